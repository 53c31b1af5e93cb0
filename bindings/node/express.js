// SPDX-License-Identifier: MIT
// A store for express-rate-limit: one count for all worker processes.
//
//     rateLimit({windowMs: 60_000, limit: 100, store: new WeirStore({path: '/run/app/limits'})})
//
// The contract (express-rate-limit 8, its interface Store), which tests/express.test.mjs holds:
//   init(options)    once, before all others, with windowMs: its own store of one rateLimit()
//   increment(key)   counts, above the limit too: {totalHits: of this window, from 1 up, resetTime: Date of its end}
//   decrement(key)   takes one back (skipFailedRequests, skipSuccessfulRequests), of each request under way, however
//                    many there are of the key; never below 0; of a key that is not known: nothing
//   get(key)         the same as increment tells, without counting; undefined: nothing is counted
//   resetKey(key)    forgets the key's count, and no other key's
//   resetAll()       is optional, and left out: other programs may keep their keys in the same file
//   prefix           before each key, so that two stores may share a file without sharing counts
//   localKeys        false: increments of one instance affect others, and keys outlive the process
//   shutdown()       lets go of the file
// An error of a store is passed on by express-rate-limit, or lets the request pass with passOnStoreError.
'use strict';

const {checkOptions} = require('./arguments.js');
const {copyOf} = require('./decision.js');
const {Table} = require('./index.js');

const COUNT = 1_000_000_000; // a window that never fills: express-rate-limit compares itself
const REMEMBERED = 10_000; // keys of which decrement may take hits back

class WeirStore {
    localKeys = false;
    #options;
    #table;
    #limit;
    #last = new Map(); // of a key: its last decision

    constructor(options = {}) {
        checkOptions(options, 'path', 'keys', 'prefix', 'mode', 'whenFull');
        const {prefix = '', ...ofTable} = options;
        this.#options = {keys: 100_000, ...ofTable};
        this.prefix = prefix;
    }

    init({windowMs}) {
        this.#limit = `${COUNT}/${windowMs}ms algorithm=fixed-window`;
        this.#table = new Table({...this.#options, plan: this.#limit});
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
        this.#last.set(name, copyOf(decision));
        return this.#told(decision);
    }

    decrement(key) {
        const name = this.prefix + key;
        const decision = this.#last.get(name);
        if (decision === undefined) return;
        // A decision can be settled once, and each hit of this window cost the same: so each gives back a copy.
        this.#table.cancel(this.#limit, name, copyOf(decision));
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
