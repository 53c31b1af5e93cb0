// SPDX-License-Identifier: MIT
// Tenants of one limit: each is guaranteed its own rate, and borrows what the others leave.
'use strict';

const {checkCost, checkOptions, checkText} = require('./arguments.js');
const native = require('./native.js');

// What a tenant's call was told: by its own limits and by its parent's.
class Taken {
    constructor(parts, asks) {
        this.parts = parts;
        this.asks = asks;
    }

    get allowed() {
        return this.parts.every((part) => part.allowed);
    }

    // That of the tenant's own limits; refused: that which refuses for longest.
    get decision() {
        const refused = this.parts.filter((part) => !part.allowed);
        const longest = (one, other) => (other.retryNs > one.retryNs ? other : one);
        return refused.length > 0 ? refused.reduce(longest) : this.parts[0];
    }

    // It passed, but not by the tenant's guarantee.
    get borrowed() {
        return this.allowed && (this.parts[0].borrowed || !this.asks[0].isGuaranteed);
    }

    get retryMs() {
        return this.decision.retryMs;
    }

    get remaining() {
        return this.decision.remaining;
    }
}

function aboutLimit(table, limit) {
    table.peek(limit, '', 0); // what does not fit is told now
    const plan = native.planParse(limit, 0);
    const text = native.planText(plan);
    return {limit, plan, isGuaranteed: text.includes(' guaranteed'), isWeighed: text.includes(' weight=')};
}

function checkSum(parent, tenants) {
    const names = [...tenants.keys()];
    try {
        native.planCheckTenants(parent.plan, [...tenants.values()].map(({plan}) => plan));
    } catch (error) {
        error.message = error.message.replace(/tenants\[(\d+)\]/, (_, index) => `'${names[index]}'`);
        throw error;
    }
}

class Tenants {
    #key;
    #parent;
    #table;
    #tenants;

    // tenants: a text for each name, and '*' for everybody else's; all with a weight (unlimited weight=1) or none.  key: where it counts in the table.
    constructor(table, parent, tenants, options = {}) {
        checkOptions(options, 'key');
        const {key = 'tenants'} = options;
        checkText(key, "a key, for example 'api'");
        if (key.includes('}')) throw new RangeError(`the key ${key} has a brace, which ends it`);
        const names = Object.keys(tenants);
        this.#parent = aboutLimit(table, parent);
        this.#tenants = new Map(names.map((name) => [name, aboutLimit(table, tenants[name])]));
        if (this.#tenants.get('*')?.isGuaranteed)
            throw new RangeError("'*' guarantees nothing: nobody knows how many they are");
        if (!this.#tenants.has('*') && [...this.#tenants.values()].some(({isWeighed}) => isWeighed))
            throw new RangeError("'*' has no weight and others have one; for example '*': 'unlimited weight=1'");
        checkSum(this.#parent, this.#tenants);
        this.#key = key;
        this.#table = table;
    }

    // Takes from the tenant and its parent, or from neither.
    take(tenant, cost = 1) {
        checkText(tenant, 'the name of a tenant');
        checkCost(cost);
        const own = this.#tenants.get(tenant) ?? this.#tenants.get('*');
        const asks = own === undefined ? [] : [{...own, key: `{${this.#key}}:${tenant}`}];
        asks.push({...this.#parent, isGuaranteed: false, key: `{${this.#key}}`});
        return new Taken(this.#table.takeAll(asks.map(({limit, key}) => [limit, key]), cost), asks);
    }

    // Charges or refunds the difference, once.
    settle(taken, actual) {
        taken.parts.forEach((part, i) => this.#table.settle(taken.asks[i].limit, taken.asks[i].key, part, actual));
    }

    cancel(taken) {
        this.settle(taken, 0);
    }
}

module.exports = {Tenants};
