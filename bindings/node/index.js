// SPDX-License-Identifier: MIT
// Rate limits for Node: of a process (Limiter), or of all processes of a machine with a state for each key (Table).
'use strict';

const {inspect} = require('node:util');
const {checkCost, checkKey, checkLimit, checkOptions, checkText, checkWhole, delayNs, oneOf, timeNs} =
    require('./arguments.js');
const {actualByUnit, checkNumber, costByUnit} = require('./cost.js');
const {Decision, checkDecision, eachOf, headers, idOf, place, rawOf, sourceOf} = require('./decision.js');
const {Hold, Line, checkLease, holding} = require('./hold.js');
const native = require('./native.js');
const {Refused, onAbort} = require('./refused.js');
const {Tenants} = require('./tenants.js');

const TIMER_MAX_MS = 2 ** 31 - 1;
const PLANS_MAX = 1000;
const AGAIN_MS = 10; // how often a table's file is asked whether another process has given back
const [TAKE, TAKE_SOME, CHARGE, PEEK, TAKE_AT, RESERVE] = [0, 1, 2, 3, 4, 5]; // as in addon.c

// ---- waiting ----

// Until the start of a reservation.  One timer, which never ends early: Node's may, by a part of a millisecond.
function untilStart(decision, signal) {
    return new Promise((resolve, reject) => {
        let timer;
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const forget = signal && onAbort(signal, stop);
        const look = () => {
            const left = native.untilMs(decision.startNs);
            if (left > 0) {
                timer = setTimeout(look, Math.min(Math.ceil(left), TIMER_MAX_MS));
            } else {
                forget?.();
                resolve();
            }
        };
        look();
    });
}

function giveBack(cancel, decision) {
    try {
        cancel(decision);
    } catch {
        // The limiter was closed meanwhile, and its permits are gone with it.
    }
}

function checkWait(options, ...more) {
    checkOptions(options, 'maxMs', 'signal', ...more);
    const {signal} = options;
    delayNs(options.maxMs);
    if (signal !== undefined && !(signal instanceof AbortSignal))
        throw new TypeError(`expected signal: an AbortSignal, not ${inspect(signal)}`);
    signal?.throwIfAborted();
}

// What is known of a plan, besides the reset of its decisions.
function aboutPlan(plan) {
    const units = native.planUnits(plan);
    return {plan, units, isMixed: new Set(units).size > 1, leaseMs: Number(native.planLeaseNs(plan)) / 1e6};
}

async function waitFor(reserve, cancel, options) {
    checkWait(options);
    const {maxMs, signal} = options;
    const decision = reserve(maxMs);
    if (!decision.allowed) throw new Refused(decision);
    if (decision.delayNs === 0n) return decision;
    try {
        await untilStart(decision, signal);
    } catch (error) {
        giveBack(cancel, decision);
        throw error;
    }
    return decision;
}

// ---- limiters ----

// The words of a weir_times.
function timesOf([count, ...ns]) {
    const [totalMs, minMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs] = ns.map((each) => Number(each) / 1e6);
    return {count: Number(count), totalMs, minMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs};
}

const CLOCKS = ['system', 'coarse', 'ticker', 'manual', 'tsc'];

class Limiter {
    #handle;
    #pace;
    #line = new Line(Infinity);
    #paused = false;
    #source;

    // use: 'admit' (default), or 'pace' for work that makes up for lost time.  clock: 'manual', in tests, is 0 until
    // setTime.
    constructor(limit, options = {}) {
        checkLimit(limit);
        checkOptions(options, 'use', 'clock');
        const clock = oneOf(options.clock ?? 'system', CLOCKS, 'clock');
        this.#pace = oneOf(options.use ?? 'admit', ['admit', 'pace'], 'use');
        this.#handle = native.limiterOpen(limit, this.#pace, clock);
        this.#remember(limit);
    }

    #remember(limit) {
        const handle = this.#handle;
        this.#source = {
            ...aboutPlan(native.planParse(limit, this.#pace)),
            fullNs: (raw) => native.limiterFullNs(handle, raw),
        };
    }

    #call(cost, how, ns) {
        const source = this.#source;
        const each = costByUnit(source, cost);
        const at = place();
        if (each === undefined) native.limiterTake(this.#handle, at, cost, how, ns);
        else native.limiterTakeEach(this.#handle, at, each, how, ns);
        return new Decision(at, source, each);
    }

    // Of a number alone.
    #callAlike(cost, how, ns) {
        const at = place();
        native.limiterTake(this.#handle, at, cost, how, ns);
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
        checkNumber(this.#source, costMax);
        return this.#callAlike(costMax, TAKE_SOME);
    }

    takeAt(nowNs, cost = 1) {
        checkNumber(this.#source, cost);
        return this.#callAlike(cost, TAKE_AT, timeNs(nowNs));
    }

    peek(cost = 1) {
        checkCost(cost);
        return this.#callAlike(cost, PEEK);
    }

    // Takes in any case; what is missing becomes a debt.
    charge(cost) {
        return this.#call(cost, CHARGE);
    }

    // Takes permits that become available within maxMs: start after delayMs.
    reserve(cost = 1, options = {}) {
        checkOptions(options, 'maxMs');
        return this.#call(cost, RESERVE, delayNs(options.maxMs));
    }

    // Corrects a cost, once.
    settle(decision, actual) {
        checkDecision(decision);
        const each = eachOf(decision);
        const numbers = actualByUnit(sourceOf(decision), each, actual);
        native.limiterSettle(this.#handle, rawOf(decision), numbers, each);
        this.#line.ring();
    }

    cancel(decision) {
        this.settle(decision, 0);
    }

    // Resolves when the work may start; starts are in the order of the calls.
    async wait(cost = 1, options = {}) {
        if (this.#source.leaseMs !== 0) {
            checkWait(options);
            return this.#line.wait(() => this.take(cost), () => this.peek(0), options);
        }
        const reserve = (maxMs) => this.reserve(cost, {maxMs});
        return waitFor(reserve, (decision) => this.cancel(decision), options);
    }

    // The slots of a decision or an id are held for a whole lease from now on, or end now; false: they are not held.
    renew(held) {
        return native.limiterHold(this.#handle, idOf(held), true);
    }

    release(held) {
        const released = native.limiterHold(this.#handle, idOf(held), false);
        this.#line.ring();
        return released;
    }

    // Slots of a concurrent limit.  With a function: until that has ended; else yours to release, by `using`, say.
    // renew: a timer renews them as long as the process lives.
    async hold(...given) {
        const work = typeof given[0] === 'function' ? given.shift() : undefined;
        const [cost = 1, {renew = false, ...options} = {}] = given;
        checkLease(this.#source, this.limit);
        const decision = await this.wait(cost, options);
        return holding(new Hold(this, decision, this.#source.leaseMs, renew), work);
    }

    setLimit(limit, options = {}) {
        checkLimit(limit);
        checkOptions(options, 'carry');
        const carry = oneOf(options.carry ?? 'keep', ['keep', 'scale', 'reset'], 'carry');
        native.limiterSetLimit(this.#handle, limit, carry);
        this.#paused = limit === 'pause';
        if (!this.#paused) this.#remember(limit);
        this.#line.ring();
    }

    // Whether setLimit('pause') has stopped its clock.
    get paused() {
        return this.#paused;
    }

    // When the nth permit of a decision was due.
    dueNs(decision, nth = 1) {
        checkDecision(decision);
        checkWhole(nth, 1, 'nth');
        return native.limiterDue(this.#handle, rawOf(decision), nth);
    }

    // Its operation has ended: records how long it took.
    done(decision) {
        checkDecision(decision);
        native.limiterDone(this.#handle, rawOf(decision));
    }

    // The same in times that you know better.
    doneAt(dueNs, startNs, endNs) {
        native.limiterDoneAt(this.#handle, timeNs(dueNs), timeNs(startNs), timeNs(endNs));
    }

    // Runs the work at its start, and records its end, also when it fails.
    async operation(work, cost = 1, options = {}) {
        if (typeof work !== 'function') throw new TypeError(`expected work: a function, not ${inspect(work)}`);
        const decision = await this.wait(cost, options);
        try {
            return await work(decision);
        } finally {
            this.done(decision);
            if (decision.id !== 0n) this.release(decision);
        }
    }

    latency() {
        const words = native.limiterLatency(this.#handle);
        return {response: timesOf(words.subarray(0, 8)), service: timesOf(words.subarray(8))};
    }

    // Pairs of the longest time in a bucket and how many are in it.
    latencyBuckets(measure = 'response') {
        const words = native.limiterBuckets(this.#handle, oneOf(measure, ['response', 'service'], 'measure'));
        const bucket = (_, i) => ({mostNs: words[2 * i], count: Number(words[2 * i + 1])});
        return Array.from({length: words.length / 2}, bucket);
    }

    setTime(nowNs) {
        native.limiterSetTime(this.#handle, timeNs(nowNs));
    }

    close() {
        this.#line.ring();
        native.limiterClose(this.#handle);
    }
}

// ---- tables ----

// The same of a string and of its bytes.
function nameOf(key) {
    return Buffer.from(key).toString('latin1');
}

class Table {
    #againMs;
    #handle;
    #lines = new Map(); // by key: who waits for a slot
    #sources = new Map(); // by the text of a limit that this table can keep

    // path: a file that processes share; without one it is this process' own.  plan: a limit, for slots as large as it
    // needs where it is no gcra.
    constructor(options = {}) {
        checkOptions(options, 'path', 'keys', 'plan', 'mode', 'whenFull');
        const {path, keys = 1_000_000, plan, mode = 0o600, whenFull = 'inherit'} = options;
        if (path !== undefined) checkText(path, 'a path: the name of a file');
        if (plan !== undefined) checkLimit(plan);
        checkWhole(keys, 1, 'keys');
        checkWhole(mode, 0, 'mode, for example 0o660');
        const full = oneOf(whenFull, ['inherit', 'evict', 'deny', 'allow'], 'whenFull');
        this.#againMs = path === undefined ? Infinity : AGAIN_MS;
        this.#handle = native.tableOpen(path, keys, plan && native.planParse(plan, 0), mode, full);
    }

    // What is known of a limit; made when it is met first.
    #sourceOf(limit) {
        const known = this.#sources.get(limit);
        if (known !== undefined) return known;
        checkLimit(limit);
        const handle = this.#handle;
        const plan = native.planParse(limit, 0);
        native.tableFits(handle, plan);
        const source = {...aboutPlan(plan), fullNs: (raw) => native.tableFullNs(handle, raw, plan)};
        if (this.#sources.size === PLANS_MAX) this.#sources.clear();
        this.#sources.set(limit, source);
        return source;
    }

    #call(limit, key, cost, how, ns) {
        const source = this.#sourceOf(limit);
        checkKey(key);
        const each = costByUnit(source, cost);
        const at = place();
        if (each === undefined) native.tableTake(this.#handle, at, source.plan, key, cost, how, ns);
        else native.tableTakeEach(this.#handle, at, source.plan, key, each, how, ns);
        return new Decision(at, source, each);
    }

    // Of a number alone.
    #callAlike(limit, key, cost, how, ns) {
        const source = this.#sourceOf(limit);
        checkKey(key);
        const at = place();
        native.tableTake(this.#handle, at, source.plan, key, cost, how, ns);
        return new Decision(at, source);
    }

    take(limit, key, cost = 1) {
        return this.#call(limit, key, cost, TAKE);
    }

    takeAt(limit, key, nowNs, cost = 1) {
        checkNumber(this.#sourceOf(limit), cost);
        return this.#callAlike(limit, key, cost, TAKE_AT, timeNs(nowNs));
    }

    peek(limit, key, cost = 1) {
        checkCost(cost);
        return this.#callAlike(limit, key, cost, PEEK);
    }

    charge(limit, key, cost) {
        return this.#call(limit, key, cost, CHARGE);
    }

    reserve(limit, key, cost = 1, options = {}) {
        checkOptions(options, 'maxMs');
        return this.#call(limit, key, cost, RESERVE, delayNs(options.maxMs));
    }

    settle(limit, key, decision, actual) {
        checkKey(key);
        checkDecision(decision);
        const each = eachOf(decision);
        const {plan} = this.#sourceOf(limit);
        const numbers = actualByUnit(sourceOf(decision), each, actual);
        native.tableSettle(this.#handle, rawOf(decision), plan, key, numbers, each);
        this.#ring(key);
    }

    cancel(limit, key, decision) {
        this.settle(limit, key, decision, 0);
    }

    // Kept while somebody waits there.
    async #waitInLine(limit, key, cost, options) {
        const name = nameOf(key);
        const line = this.#lines.get(name) ?? new Line(this.#againMs);
        this.#lines.set(name, line);
        try {
            return await line.wait(() => this.take(limit, key, cost), () => this.peek(limit, key, 0), options);
        } finally {
            if (line.length === 0) this.#lines.delete(name);
        }
    }

    #ring(key) {
        if (this.#lines.size > 0) this.#lines.get(nameOf(key))?.ring();
    }

    async wait(limit, key, cost = 1, options = {}) {
        if (this.#sourceOf(limit).leaseMs !== 0) {
            checkKey(key);
            checkWait(options);
            return this.#waitInLine(limit, key, cost, options);
        }
        const reserve = (maxMs) => this.reserve(limit, key, cost, {maxMs});
        return waitFor(reserve, (decision) => this.cancel(limit, key, decision), options);
    }

    // As of a Limiter, for all processes.
    renew(limit, key, held) {
        checkKey(key);
        return native.tableHold(this.#handle, this.#sourceOf(limit).plan, key, idOf(held), true);
    }

    release(limit, key, held) {
        checkKey(key);
        const released = native.tableHold(this.#handle, this.#sourceOf(limit).plan, key, idOf(held), false);
        this.#ring(key);
        return released;
    }

    async hold(limit, key, ...given) {
        const work = typeof given[0] === 'function' ? given.shift() : undefined;
        const [cost = 1, {renew = false, ...options} = {}] = given;
        const source = this.#sourceOf(limit);
        checkLease(source, limit);
        const decision = await this.wait(limit, key, cost, options);
        const of = {
            renew: (held) => this.renew(limit, key, held),
            release: (held) => this.release(limit, key, held),
        };
        return holding(new Hold(of, decision, source.leaseMs, renew), work);
    }

    // From all of up to 16 different keys, or from none: asks are [limit, key]; a decision of each.
    takeAll(asks, cost = 1) {
        if (!Array.isArray(asks) || asks.length < 1 || asks.length > 16)
            throw new TypeError(`expected 1 to 16 asks [limit, key], not ${inspect(asks)}`);
        const sources = asks.map(([limit]) => this.#sourceOf(limit));
        asks.forEach(([, key]) => checkKey(key));
        sources.forEach((source) => checkNumber(source, cost));
        const at = place(asks.length);
        native.tableTakeAll(this.#handle, at, asks.map(([, key]) => key), sources.map(({plan}) => plan), cost);
        return sources.map((source, i) => new Decision(at + i, source));
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

// Of the next item; undefined where a profile has ended.
async function startOf(limiter, options) {
    try {
        return await limiter.wait(1, options);
    } catch (error) {
        if (error instanceof Refused && error.decision.verdict === 'deny' && !limiter.paused) return undefined;
        throw error;
    }
}

// Each item when its turn has come, on a schedule that makes up for lost time.  A Limiter of yours records how long the
// loop has each.  Where a profile ends, so does the loop.
async function* pace(items, limit, options = {}) {
    checkOptions(options, 'signal');
    const limiter = limit instanceof Limiter ? limit : new Limiter(limit, {use: 'pace'});
    try {
        for await (const item of items) {
            const decision = await startOf(limiter, options);
            if (decision === undefined) return;
            try {
                yield item;
            } finally {
                if (decision.id !== 0n) limiter.release(decision);
            }
            limiter.done(decision);
        }
    } finally {
        if (limiter !== limit) limiter.close();
    }
}

const {nowNs, version} = native;
module.exports = {Limiter, Table, Tenants, Decision, Hold, Refused, headers, pace, nowNs, version};
