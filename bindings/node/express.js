// SPDX-License-Identifier: MIT
// A store for express-rate-limit: one count for all worker processes.
//
//     rateLimit({windowMs: 60_000, limit: 100, store: new WeirStore({path: '/run/app/limits'})})
//
// What express-rate-limit asks of a store: init(options) once; increment(key) counts a request and tells how many there
// were in the window, those above the limit too, and when it ends; decrement(key) takes the last one back; resetKey;
// get(key), without counting.  localKeys false says that others share the keys.
'use strict';

const {Table} = require('./index.js');

const COUNT = 1_000_000_000; // a window that never fills: express-rate-limit compares itself
const REMEMBERED = 10_000; // decisions that decrement may take back

class WeirStore {
    localKeys = false;
    #options;
    #table;
    #limit;
    #last = new Map();

    constructor({path, keys = 100_000, prefix = ''} = {}) {
        this.#options = {path, keys};
        this.prefix = prefix;
    }

    init({windowMs}) {
        this.#limit = `${COUNT}/${windowMs}ms algorithm=fixed-window`;
        this.#table = new Table({...this.#options, limit: this.#limit});
    }

    #told(decision) {
        return {
            totalHits: COUNT - decision.remaining,
            resetTime: new Date(Date.now() + Math.ceil(decision.resetMs)),
        };
    }

    increment(key) {
        const name = this.prefix + key;
        const decision = this.#table.take(this.#limit, name);
        if (this.#last.size === REMEMBERED) this.#last.delete(this.#last.keys().next().value);
        this.#last.set(name, decision);
        return this.#told(decision);
    }

    decrement(key) {
        const name = this.prefix + key;
        const decision = this.#last.get(name);
        if (decision === undefined) return;
        this.#last.delete(name);
        this.#table.settle(this.#limit, name, decision, 0);
    }

    resetKey(key) {
        this.#last.delete(this.prefix + key);
        this.#table.forget(this.#limit, this.prefix + key);
    }

    get(key) {
        const decision = this.#table.peek(this.#limit, this.prefix + key, 0);
        return decision.remaining === COUNT ? undefined : this.#told(decision);
    }

    shutdown() {
        this.#table?.close();
    }
}

module.exports = {WeirStore};
