// SPDX-License-Identifier: MIT
// Rate limits for Node: of a process (Limiter), or of all processes of a machine with a state for each key (Table).
'use strict';

const native = require('./native.js');

const PAGE = 256; // decisions that lie in one buffer
const WORDS = 8; // of a decision (weir.h), 64 bits each
const VERDICTS = ['', 'allow', 'deny', 'never', 'stopped'];
const TIMER_MAX_MS = 2 ** 31 - 1;
const PLANS_MAX = 1000;
const TAKE = 0;
const TAKE_SOME = 1;
const CHARGE = 2;
const PEEK = 3;
const FOREVER = 2n ** 64n - 1n;

// ---- arguments ----

function checkCost(cost) {
    if (Number.isSafeInteger(cost) && cost >= 0) return;
    throw new RangeError(`expected a cost: a whole number from 0 up, not ${String(cost)}`);
}

function checkText(limit) {
    if (typeof limit === 'string') return;
    throw new TypeError(`expected a limit, for example '10/s burst=20', not ${String(limit)}`);
}

function checkKey(key) {
    if (typeof key === 'string' || key instanceof Uint8Array) return;
    throw new TypeError(`expected a key: a string or bytes, not ${String(key)}`);
}

function checkDecision(decision) {
    if (decision instanceof Decision) return;
    throw new TypeError('expected a decision, as take() returns it');
}

function delayNs(maxMs) {
    if (maxMs === undefined || maxMs === Infinity) return FOREVER;
    if (typeof maxMs === 'number' && maxMs >= 0) return BigInt(Math.floor(maxMs * 1e6));
    throw new RangeError(`expected maxMs: milliseconds from 0 up, not ${String(maxMs)}`);
}

function oneOf(value, names, what) {
    const index = names.indexOf(value);
    if (index >= 0) return index;
    throw new RangeError(`expected ${what}: ${names.join(', ')}, not ${String(value)}`);
}

// ---- decisions ----

let words = null; // of the page in use
let halves = null;
let next = PAGE;

// The number of the next free decision.
function place() {
    if (next === PAGE) {
        const buffer = new ArrayBuffer(PAGE * WORDS * 8);
        native.setPage(buffer);
        words = new BigUint64Array(buffer);
        halves = new Uint32Array(buffer);
        next = 0;
    }
    return next++;
}

class Decision {
    #at;
    #words;
    #halves;
    #source;

    // The decision that is at this number of the page in use.  source: its plan, and what knows its reset.
    constructor(at, source) {
        this.#at = at * WORDS;
        this.#words = words;
        this.#halves = halves;
        this.#source = source;
    }

    get allowed() {
        return this.#halves[2 * this.#at] === 1;
    }

    get verdict() {
        return VERDICTS[this.#halves[2 * this.#at]];
    }

    // The index of the limit that refused, that set the start, or else that has the least remaining.
    get limit() {
        return this.#halves[2 * this.#at + 1];
    }

    get startNs() {
        return this.#words[this.#at + 1];
    }

    get delayNs() {
        return this.#words[this.#at + 2];
    }

    get delayMs() {
        return Number(this.delayNs) / 1e6;
    }

    get retryNs() {
        return this.verdict === 'deny' ? this.#words[this.#at + 3] : 0n;
    }

    get retryMs() {
        return Number(this.retryNs) / 1e6;
    }

    get remaining() {
        return Number(this.#words[this.#at + 5]);
    }

    get charged() {
        return Number(this.#words[this.#at + 6]);
    }

    // Until the limit has all permits again, if nobody takes any.
    get resetNs() {
        return this.#source.fullNs(this.raw);
    }

    get resetMs() {
        return Number(this.resetNs) / 1e6;
    }

    get plan() {
        return this.#source.plan;
    }

    get raw() {
        return this.#words.subarray(this.#at, this.#at + WORDS);
    }
}

// Thrown by wait(): what was asked for may not start.
class Refused extends Error {
    constructor(decision) {
        super(decision.verdict === 'never' ? 'this cost can never pass' : 'refused');
        this.name = 'Refused';
        this.code = 'ERR_WEIR_REFUSED';
        this.decision = decision;
    }
}

// Headers for the client: RateLimit-Policy, RateLimit and, of a refusal, Retry-After.
function headers(decision) {
    checkDecision(decision);
    const lines = native.planHeaders(decision.plan, decision.raw, decision.resetNs).split('\r\n');
    return Object.fromEntries(lines.filter(Boolean).map((line) => line.split(': ')));
}

// ---- waiting ----

// Until the start of a reservation.  One timer, which never ends early: Node's may, by a part of a millisecond.
function untilStart(decision, signal) {
    return new Promise((resolve, reject) => {
        let timer;
        const look = () => {
            const left = native.untilMs(decision.startNs);
            if (left > 0) {
                timer = setTimeout(look, Math.min(Math.ceil(left), TIMER_MAX_MS));
            } else {
                signal?.removeEventListener('abort', stop);
                resolve();
            }
        };
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        signal?.addEventListener('abort', stop, {once: true});
        look();
    });
}

async function waitFor(reserve, cancel, signal) {
    signal?.throwIfAborted();
    const decision = reserve();
    if (!decision.allowed) throw new Refused(decision);
    if (decision.delayNs === 0n) return decision;
    try {
        await untilStart(decision, signal);
    } catch (error) {
        cancel(decision);
        throw error;
    }
    return decision;
}

// ---- plans ----

const plans = new Map();

function planOf(limit) {
    let plan = plans.get(limit);
    if (plan === undefined) {
        checkText(limit);
        plan = native.planParse(limit, 0);
        if (plans.size === PLANS_MAX) plans.delete(plans.keys().next().value);
        plans.set(limit, plan);
    }
    return plan;
}

// ---- limiters ----

class Limiter {
    #handle;
    #pace;
    #source;

    // use: 'admit' (default), or 'pace' for work that makes up for lost time.
    constructor(limit, {use = 'admit'} = {}) {
        checkText(limit);
        this.#pace = oneOf(use, ['admit', 'pace'], 'use');
        this.#handle = native.limiterOpen(limit, this.#pace);
        this.#remember(limit);
    }

    #remember(limit) {
        const handle = this.#handle;
        this.#source = {
            plan: native.planParse(limit, this.#pace),
            fullNs: (raw) => native.limiterFullNs(handle, raw),
        };
    }

    #call(cost, how) {
        checkCost(cost);
        const at = place();
        native.limiterTake(this.#handle, at, cost, how);
        return new Decision(at, this.#source);
    }

    get limit() {
        return native.planText(this.#source.plan);
    }

    take(cost = 1) {
        return this.#call(cost, TAKE);
    }

    // As many as are available now, from 1 to this; `charged` says how many.
    takeSome(costMax) {
        return this.#call(costMax, TAKE_SOME);
    }

    takeAt(nowNs, cost = 1) {
        checkCost(cost);
        const at = place();
        native.limiterTakeAt(this.#handle, at, cost, BigInt(nowNs));
        return new Decision(at, this.#source);
    }

    peek(cost = 1) {
        return this.#call(cost, PEEK);
    }

    // Takes in any case; what is missing becomes a debt.
    charge(cost) {
        return this.#call(cost, CHARGE);
    }

    // Takes permits that become available within maxMs: start after delayMs.
    reserve(cost = 1, {maxMs} = {}) {
        checkCost(cost);
        const latest = delayNs(maxMs);
        const at = place();
        native.limiterReserve(this.#handle, at, cost, latest);
        return new Decision(at, this.#source);
    }

    // Corrects a cost, once.
    settle(decision, actual) {
        checkDecision(decision);
        checkCost(actual);
        native.limiterSettle(this.#handle, decision.raw, actual);
    }

    cancel(decision) {
        this.settle(decision, 0);
    }

    // Resolves when the work may start; starts are in the order of the calls.
    wait(cost = 1, {maxMs, signal} = {}) {
        return waitFor(
            () => this.reserve(cost, {maxMs}),
            (decision) => this.cancel(decision),
            signal,
        );
    }

    setLimit(limit, {carry = 'keep'} = {}) {
        checkText(limit);
        native.limiterSetLimit(this.#handle, limit, oneOf(carry, ['keep', 'scale', 'reset'], 'carry'));
        if (limit !== 'pause') this.#remember(limit);
    }

    close() {
        native.limiterClose(this.#handle);
    }
}

// ---- tables ----

class Table {
    #handle;
    #fitting = new Map(); // limits that this table can keep

    // path: a file that processes share; without one it is this process' own.  limit: with slots as large as this limit
    // needs, for limits that are no gcra.
    constructor({path, keys = 1_000_000, limit} = {}) {
        if (path !== undefined && typeof path !== 'string') throw new TypeError('expected a path: the name of a file');
        if (!Number.isSafeInteger(keys) || keys < 1) throw new RangeError(`expected keys from 1 up, not ${String(keys)}`);
        this.#handle = native.tableOpen(path, keys, limit === undefined ? undefined : planOf(limit));
    }

    #sourceOf(limit) {
        let source = this.#fitting.get(limit);
        if (source === undefined) {
            const plan = planOf(limit);
            const handle = this.#handle;
            native.tableFits(handle, plan);
            source = {plan, fullNs: (raw) => native.tableFullNs(handle, raw, plan)};
            if (this.#fitting.size === PLANS_MAX) this.#fitting.clear();
            this.#fitting.set(limit, source);
        }
        return source;
    }

    #call(limit, key, cost, how) {
        checkKey(key);
        checkCost(cost);
        const source = this.#sourceOf(limit);
        const at = place();
        native.tableTake(this.#handle, at, source.plan, key, cost, how);
        return new Decision(at, source);
    }

    take(limit, key, cost = 1) {
        return this.#call(limit, key, cost, TAKE);
    }

    takeAt(limit, key, nowNs, cost = 1) {
        checkKey(key);
        checkCost(cost);
        const source = this.#sourceOf(limit);
        const at = place();
        native.tableTakeAt(this.#handle, at, source.plan, key, cost, BigInt(nowNs));
        return new Decision(at, source);
    }

    peek(limit, key, cost = 1) {
        return this.#call(limit, key, cost, PEEK);
    }

    charge(limit, key, cost) {
        return this.#call(limit, key, cost, CHARGE);
    }

    reserve(limit, key, cost = 1, {maxMs} = {}) {
        checkKey(key);
        checkCost(cost);
        const source = this.#sourceOf(limit);
        const latest = delayNs(maxMs);
        const at = place();
        native.tableReserve(this.#handle, at, source.plan, key, cost, latest);
        return new Decision(at, source);
    }

    settle(limit, key, decision, actual) {
        checkKey(key);
        checkDecision(decision);
        checkCost(actual);
        native.tableSettle(this.#handle, decision.raw, this.#sourceOf(limit).plan, key, actual);
    }

    wait(limit, key, cost = 1, {maxMs, signal} = {}) {
        return waitFor(
            () => this.reserve(limit, key, cost, {maxMs}),
            (decision) => this.settle(limit, key, decision, 0),
            signal,
        );
    }

    // All permits of the key are back.
    forget(limit, key) {
        checkKey(key);
        native.tableForget(this.#handle, this.#sourceOf(limit).plan, key);
    }

    stats() {
        return native.tableStats(this.#handle);
    }

    close() {
        native.tableClose(this.#handle);
    }
}

// Each item when its turn has come, on a schedule that makes up for lost time.
async function* pace(items, limit, {signal} = {}) {
    const limiter = new Limiter(limit, {use: 'pace'});
    try {
        for await (const item of items) {
            await limiter.wait(1, {signal});
            yield item;
        }
    } finally {
        limiter.close();
    }
}

module.exports = {Limiter, Table, Decision, Refused, headers, pace, nowNs: native.nowNs, version: native.version};
