// SPDX-License-Identifier: MIT
// Rate limits for Node: of a process (Limiter), or of all processes of a machine with a state for each key (Table).
'use strict';

const {inspect} = require('node:util');
const {checkCost, checkKey, checkLimit, checkOptions, checkText, checkWhole, delayNs, oneOf, timeNs} =
    require('./arguments.js');
const {Decision, checkDecision, headers, place, rawOf} = require('./decision.js');
const native = require('./native.js');

const TIMER_MAX_MS = 2 ** 31 - 1;
const PLANS_MAX = 1000;
const [TAKE, TAKE_SOME, CHARGE, PEEK, TAKE_AT, RESERVE] = [0, 1, 2, 3, 4, 5]; // as in addon.c

// ---- waiting ----

// Thrown by wait(): what was asked for may not start.
class Refused extends Error {
    constructor(decision) {
        const {verdict, retryMs} = decision;
        const late = retryMs === Infinity ? 'nothing is due any more: the limiter is paused, or its profile has ended'
            : `it would pass in ${retryMs} ms`;
        super(`refused: ${verdict === 'deny' ? late : verdict}`);
        this.name = 'Refused';
        this.code = 'ERR_WEIR_REFUSED';
        this.decision = decision;
    }
}

const waiting = new WeakMap(); // by signal: what stops each of its waiters

// One listener a signal, which stops the newest first: a reservation with others behind it is not given back.
function onAbort(signal, stop) {
    let stops = waiting.get(signal);
    if (stops === undefined) {
        stops = new Set();
        waiting.set(signal, stops);
        signal.addEventListener('abort', () => [...stops].reverse().forEach((each) => each()), {once: true});
    }
    stops.add(stop);
    return () => stops.delete(stop);
}

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

async function waitFor(reserve, cancel, options) {
    checkOptions(options, 'maxMs', 'signal');
    const {maxMs, signal} = options;
    if (signal !== undefined && !(signal instanceof AbortSignal))
        throw new TypeError(`expected signal: an AbortSignal, not ${inspect(signal)}`);
    signal?.throwIfAborted();
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
            plan: native.planParse(limit, this.#pace),
            fullNs: (raw) => native.limiterFullNs(handle, raw),
        };
    }

    #call(cost, how, ns) {
        checkCost(cost);
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
        return this.#call(costMax, TAKE_SOME);
    }

    takeAt(nowNs, cost = 1) {
        return this.#call(cost, TAKE_AT, timeNs(nowNs));
    }

    peek(cost = 1) {
        return this.#call(cost, PEEK);
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
        checkCost(actual);
        native.limiterSettle(this.#handle, rawOf(decision), actual);
    }

    cancel(decision) {
        this.settle(decision, 0);
    }

    // Resolves when the work may start; starts are in the order of the calls.
    wait(cost = 1, options = {}) {
        const reserve = (maxMs) => this.reserve(cost, {maxMs});
        return waitFor(reserve, (decision) => this.cancel(decision), options);
    }

    setLimit(limit, options = {}) {
        checkLimit(limit);
        checkOptions(options, 'carry');
        const carry = oneOf(options.carry ?? 'keep', ['keep', 'scale', 'reset'], 'carry');
        native.limiterSetLimit(this.#handle, limit, carry);
        this.#paused = limit === 'pause';
        if (!this.#paused) this.#remember(limit);
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
        native.limiterClose(this.#handle);
    }
}

// ---- tables ----

class Table {
    #handle;
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
        const source = {plan, fullNs: (raw) => native.tableFullNs(handle, raw, plan)};
        if (this.#sources.size === PLANS_MAX) this.#sources.clear();
        this.#sources.set(limit, source);
        return source;
    }

    #call(limit, key, cost, how, ns) {
        const source = this.#sourceOf(limit);
        checkKey(key);
        checkCost(cost);
        const at = place();
        native.tableTake(this.#handle, at, source.plan, key, cost, how, ns);
        return new Decision(at, source);
    }

    take(limit, key, cost = 1) {
        return this.#call(limit, key, cost, TAKE);
    }

    takeAt(limit, key, nowNs, cost = 1) {
        return this.#call(limit, key, cost, TAKE_AT, timeNs(nowNs));
    }

    peek(limit, key, cost = 1) {
        return this.#call(limit, key, cost, PEEK);
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
        checkCost(actual);
        native.tableSettle(this.#handle, rawOf(decision), this.#sourceOf(limit).plan, key, actual);
    }

    cancel(limit, key, decision) {
        this.settle(limit, key, decision, 0);
    }

    wait(limit, key, cost = 1, options = {}) {
        const reserve = (maxMs) => this.reserve(limit, key, cost, {maxMs});
        return waitFor(reserve, (decision) => this.cancel(limit, key, decision), options);
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
            yield item;
            limiter.done(decision);
        }
    } finally {
        if (limiter !== limit) limiter.close();
    }
}

const {nowNs, version} = native;
module.exports = {Limiter, Table, Decision, Refused, headers, pace, nowNs, version};
