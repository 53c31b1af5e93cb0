// SPDX-License-Identifier: MIT
// What a call was told.  The addon writes a decision into a page of memory; a Decision reads there what it is asked
// for.  Nothing outside of the package reaches a page, so nobody can transfer it away while the addon writes there.
'use strict';

const {inspect} = require('node:util');
const {FOREVER, timeNs} = require('./arguments.js');
const native = require('./native.js');

const PAGE = 256; // decisions
const WORDS = 8; // of a decision (weir.h), 64 bits each
const VERDICTS = ['', 'allow', 'deny', 'never', 'stopped'];

function pageOf(buffer) {
    return {words: new BigUint64Array(buffer), halves: new Uint32Array(buffer)};
}

let page = null; // in use
let next = PAGE;

// The number of the next free decision, or of the first of so many.
function place(count = 1) {
    if (next + count > PAGE) {
        const buffer = new ArrayBuffer(PAGE * WORDS * 8);
        native.setPage(buffer);
        page = pageOf(buffer);
        next = 0;
    }
    next += count;
    return next - count;
}

function ms(ns) {
    return ns === FOREVER ? Infinity : Number(ns) / 1e6;
}

let rawOf; // its words
let sourceOf; // its plan, and what is known of that
let eachOf; // what it cost by unit, if that was given
let copyOf; // one that keeps no page alive, and can be settled beside the first

class Decision {
    #at;
    #each;
    #page;
    #source;

    // The decision that is at this number of the page in use.  source: its plan, and what knows its reset.
    constructor(at, source, each) {
        this.#each = each;
        this.#at = at * WORDS;
        this.#page = page;
        this.#source = source;
    }

    static {
        rawOf = (decision) => decision.#page.words.subarray(decision.#at, decision.#at + WORDS);
        sourceOf = (decision) => decision.#source;
        eachOf = (decision) => decision.#each;
        copyOf = (decision) => {
            const copy = new Decision(0, decision.#source, decision.#each);
            copy.#page = pageOf(rawOf(decision).slice().buffer);
            return copy;
        };
    }

    get allowed() {
        return this.#page.halves[2 * this.#at] === 1;
    }

    get verdict() {
        return VERDICTS[this.#page.halves[2 * this.#at]];
    }

    // The index of the limit that refused, that set the start, or else that has the least remaining.
    get limit() {
        return this.#page.halves[2 * this.#at + 1];
    }

    get startNs() {
        return this.#page.words[this.#at + 1];
    }

    // When the limit had scheduled it, where it has a schedule (use: 'pace').
    get dueNs() {
        return (this.allowed && this.#page.words[this.#at + 3]) || this.startNs;
    }

    get delayNs() {
        return this.#page.words[this.#at + 2];
    }

    get delayMs() {
        return ms(this.delayNs);
    }

    get retryNs() {
        if (this.allowed) return 0n;
        return this.verdict === 'deny' ? this.#page.words[this.#at + 3] : FOREVER;
    }

    get retryMs() {
        return ms(this.retryNs);
    }

    get remaining() {
        return Number(this.#page.words[this.#at + 5]);
    }

    get charged() {
        return Number(this.#page.words[this.#at + 6]);
    }

    // Until the limit has all permits again, if nobody takes any.
    get resetNs() {
        return this.#source.fullNs(rawOf(this));
    }

    get resetMs() {
        return ms(this.resetNs);
    }

    // Of a tenant: it took, but not from its guaranteed limit.
    get borrowed() {
        return this.allowed && (this.#page.words[this.#at + 7] >> 34n & 1n) === 1n;
    }

    // Of the slots that it holds under a concurrent limit, to renew and release; 0n: none.
    get id() {
        return this.allowed && this.#source.leaseMs !== 0 ? this.#page.words[this.#at + 4] : 0n;
    }

    // For logs.
    toJSON() {
        const {allowed, verdict, limit, remaining, charged, delayMs, retryMs} = this;
        return {allowed, verdict, limit, remaining, charged, delayMs, retryMs};
    }

    [inspect.custom](depth, options) {
        return `Decision ${inspect(this.toJSON(), options)}`;
    }
}

function checkDecision(decision) {
    if (decision instanceof Decision) return;
    throw new TypeError(`expected a decision, as take() returns it, not ${inspect(decision)}`);
}

// Of a decision, or as it is.
function idOf(held) {
    if (held instanceof Decision) return held.id;
    return timeNs(held, 'an id, as decision.id has it');
}

// Headers for the client: RateLimit-Policy, RateLimit and, of a refusal, Retry-After.
function headers(decision) {
    checkDecision(decision);
    const lines = native.planHeaders(sourceOf(decision).plan, rawOf(decision), decision.resetNs).split('\r\n');
    return Object.fromEntries(lines.filter(Boolean).map((line) => line.split(': ')));
}

module.exports = {Decision, checkDecision, copyOf, eachOf, headers, idOf, place, rawOf, sourceOf};
