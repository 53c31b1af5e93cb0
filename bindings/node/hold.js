// SPDX-License-Identifier: MIT
// Holding slots of a concurrent limit, and waiting for them.
//
// A slot is free when its holder releases it, which nobody can foresee, or when its lease is over.  So who waits stands
// in a line, in the order of the calls, of which the first one tries: when this process gives a slot back, when a lease
// is over and, where other processes give back, too, every few milliseconds.
'use strict';

const {Refused, onAbort} = require('./refused.js');

const TIMER_MAX_MS = 2 ** 31 - 1;

// Until the bell rings, or so many milliseconds.
function rung(waiter, ms, signal) {
    return new Promise((resolve, reject) => {
        let forget;
        const end = (settle) => () => {
            clearTimeout(timer);
            forget?.();
            settle();
        };
        const timer = setTimeout(end(resolve), Math.min(Math.ceil(ms), TIMER_MAX_MS));
        waiter.ring = end(resolve);
        if (signal) forget = onAbort(signal, end(() => reject(signal.reason)));
    });
}

class Line {
    #waiting = [];
    #againMs;

    // againMs: after how long the first one tries in any case.
    constructor(againMs) {
        this.#againMs = againMs;
    }

    get length() {
        return this.#waiting.length;
    }

    // A slot may be free.
    ring() {
        this.#waiting[0]?.ring?.();
    }

    async wait(take, peek, {maxMs = Infinity, signal}) {
        const waiter = {};
        const until = performance.now() + maxMs;
        this.#waiting.push(waiter);
        try {
            for (;;) {
                const left = until - performance.now();
                const isFirst = this.#waiting[0] === waiter;
                const decision = isFirst ? take() : undefined;
                if (decision?.allowed) return decision;
                if (left <= 0 || decision?.retryMs === Infinity) throw new Refused(decision ?? peek());
                const ms = decision === undefined ? left : Math.min(left, decision.retryMs, this.#againMs);
                await rung(waiter, ms, signal);
            }
        } finally {
            this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
            this.ring();
        }
    }
}

// Slots that are held: until release, the end of `using`, or of the function that they were given to.
class Hold {
    #of;
    #isOver = false;
    #lost = false;
    #timer;

    // of: what renews and releases it.
    constructor(of, decision, leaseMs, renews) {
        this.#of = of;
        this.decision = decision;
        if (renews) this.#timer = setInterval(() => this.renew(), Math.min(leaseMs / 3, TIMER_MAX_MS)).unref();
    }

    // Renews and releases it elsewhere, too: in another process, of a table.
    get id() {
        return this.decision.id;
    }

    // Whether a lease was over before it was renewed or released: others may have had the slots meanwhile.
    get lost() {
        return this.#lost;
    }

    // Held for a whole lease from now on; false: it is not held any more, and nothing is done.
    renew() {
        const held = this.#of.renew(this.decision);
        if (!held) clearInterval(this.#timer);
        this.#lost ||= !held && !this.#isOver;
        return held;
    }

    // Ended now; false: it was not held any more.
    release() {
        if (this.#isOver) return false;
        this.#isOver = true;
        clearInterval(this.#timer);
        const held = this.#of.release(this.decision);
        this.#lost ||= !held;
        return held;
    }
}

if (Symbol.dispose) Hold.prototype[Symbol.dispose] = Hold.prototype.release;
if (Symbol.asyncDispose) {
    Hold.prototype[Symbol.asyncDispose] = async function dispose() {
        this.release();
    };
}

function checkLease(source, limit) {
    if (source.leaseMs !== 0) return;
    throw new RangeError(`no limit of '${limit}' is concurrent; for example '20 concurrent lease=30s'`);
}

// Runs the work with what it holds, if there is any; else that is the caller's to release.
async function holding(hold, work) {
    if (work === undefined) return hold;
    try {
        return await work(hold);
    } finally {
        hold.release();
    }
}

module.exports = {Hold, Line, checkLease, holding};
