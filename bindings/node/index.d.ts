// SPDX-License-Identifier: MIT
/// <reference lib="esnext.disposable" />

export type Verdict = 'allow' | 'deny' | 'never' | 'stopped';
export type Key = string | Uint8Array;
/** A number of each limit, or numbers by unit where the limits count several: {tokens: 812}. */
export type Cost = number | Record<string, number>;

/** What a call was told.  Times are in milliseconds, and exact in nanoseconds. */
export class Decision {
    private constructor();
    readonly allowed: boolean;
    /** deny: not now; never: this cost can never pass; stopped: the limiter is. */
    readonly verdict: Verdict;
    /** The index of the limit that refused, that set the start, or else that has the least remaining. */
    readonly limit: number;
    readonly startNs: bigint;
    /** When the limit had scheduled it, of a limiter that paces; else startNs. */
    readonly dueNs: bigint;
    /** Of a reservation: from the call to its start. */
    readonly delayMs: number;
    readonly delayNs: bigint;
    /** Of a refusal: the call would pass after this time and no sooner, if nobody else comes first.  Infinity, and
     *  2n ** 64n - 1n: never. */
    readonly retryMs: number;
    readonly retryNs: bigint;
    readonly remaining: number;
    readonly charged: number;
    /** Until all permits are back, if nobody takes any. */
    readonly resetMs: number;
    readonly resetNs: bigint;
    /** Of a tenant: it took, but not from its guaranteed limit. */
    readonly borrowed: boolean;
    /** Of the slots that it holds under a concurrent limit, to renew and release; 0n: none. */
    readonly id: bigint;
    toJSON(): {
        allowed: boolean;
        verdict: Verdict;
        limit: number;
        remaining: number;
        charged: number;
        delayMs: number;
        retryMs: number;
    };
}

/** Thrown by wait() when the work may not start: it costs more than ever passes, or would start after maxMs. */
export class Refused extends Error {
    readonly code: 'ERR_WEIR_REFUSED';
    readonly decision: Decision;
}

export interface ReserveOptions {
    /** The longest wait; without it any. */
    maxMs?: number;
}

export interface WaitOptions extends ReserveOptions {
    /** Ends the wait, and gives the permits back. */
    signal?: AbortSignal;
}

export interface HoldOptions extends WaitOptions {
    /** A timer renews it for each third of a lease, as long as the process lives and its event loop turns. */
    renew?: boolean;
}

/** Slots of a concurrent limit that are held: until release, the end of `using`, or that of the work. */
export class Hold {
    private constructor();
    readonly decision: Decision;
    /** What renews and releases it elsewhere, too: in another process, of a table. */
    readonly id: bigint;
    /** A lease was over before it was renewed or released: others may have had the slots meanwhile. */
    readonly lost: boolean;
    /** Held for a whole lease from now on; false: it is not held any more, and nothing is done. */
    renew(): boolean;
    /** Ended now; false: it was not held any more. */
    release(): boolean;
    [Symbol.dispose](): void;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface Times {
    /** Operations. */
    count: number;
    totalMs: number;
    minMs: number;
    p50Ms: number;
    p90Ms: number;
    p99Ms: number;
    p999Ms: number;
    maxMs: number;
}

/** manual, in tests, is 0 until setTime; coarse and ticker are cheaper than system, some ms behind. */
export type Clock = 'system' | 'coarse' | 'ticker' | 'manual' | 'tsc';

/** A limit of this process.  Errors of a limit's text have its `column`. */
export class Limiter {
    constructor(limit: string, options?: {use?: 'admit' | 'pace'; clock?: Clock});
    /** With all defaults written out. */
    readonly limit: string;
    take(cost?: Cost): Decision;
    takeSome(costMax: number): Decision;
    takeAt(nowNs: bigint | number, cost?: number): Decision;
    peek(cost?: number): Decision;
    charge(cost: Cost): Decision;
    reserve(cost?: Cost, options?: ReserveOptions): Decision;
    settle(decision: Decision, actual: Cost): void;
    cancel(decision: Decision): void;
    wait(cost?: Cost, options?: WaitOptions): Promise<Decision>;
    /** A slot of a concurrent limit, in the order of the calls; maxMs: 0 does not wait.  Yours to release. */
    hold(cost?: Cost, options?: HoldOptions): Promise<Hold>;
    /** The same while the work runs. */
    hold<T>(work: (hold: Hold) => T, cost?: Cost, options?: HoldOptions): Promise<Awaited<T>>;
    /** The slots of a decision, or an id, are held for a whole lease from now on; false: they are not held any more. */
    renew(held: Decision | bigint): boolean;
    /** They end now; false: they are not held any more. */
    release(held: Decision | bigint): boolean;
    setLimit(limit: string, options?: {carry?: 'keep' | 'scale' | 'reset'}): void;
    /** Whether setLimit('pause') has stopped its clock. */
    readonly paused: boolean;
    /** When the nth permit of a decision was due, from 1. */
    dueNs(decision: Decision, nth?: number): bigint;
    /** Its operation has ended: records how long it took. */
    done(decision: Decision): void;
    /** The same in times that you know better. */
    doneAt(dueNs: bigint | number, startNs: bigint | number, endNs: bigint | number): void;
    /** Runs the work at its start, and records its end, also when it fails. */
    operation<T>(work: (decision: Decision) => T, cost?: Cost, options?: WaitOptions): Promise<Awaited<T>>;
    /** What is recorded: response times, from due on, and service times, from start on. */
    latency(): {response: Times; service: Times};
    /** All of it, as recordValueWithCount of HdrHistogram takes it. */
    latencyBuckets(measure?: 'response' | 'service'): {mostNs: bigint; count: number}[];
    /** Of a manual clock; waiters are not woken. */
    setTime(nowNs: bigint | number): void;
    close(): void;
}

export interface TableOptions {
    /** A file that processes share and a restart keeps; without it the table is this process' own. */
    path?: string;
    /** Keys in use at once; 1,000,000. */
    keys?: number;
    /** A limit, where it is no gcra: slots as large as it needs. */
    plan?: string;
    /** Permissions of a new file: 0o600, and others to read and write. */
    mode?: number;
    /** What a new key gets when there is no room: the debt of the key it replaces ('inherit'), none ('evict'), a
     *  refusal, or a pass that is not counted. */
    whenFull?: 'inherit' | 'evict' | 'deny' | 'allow';
}

export interface TableStats {
    keysLive: number;
    keysMax: number;
    bytes: number;
    granted: number;
    denied: number;
    reclaimed: number;
    full: number;
    displaced: number;
    stuck: number;
}

/** A state for each key, shared by all processes that open the same path. */
export class Table {
    constructor(options?: TableOptions);
    take(limit: string, key: Key, cost?: Cost): Decision;
    takeAt(limit: string, key: Key, nowNs: bigint | number, cost?: number): Decision;
    peek(limit: string, key: Key, cost?: number): Decision;
    charge(limit: string, key: Key, cost: Cost): Decision;
    reserve(limit: string, key: Key, cost?: Cost, options?: ReserveOptions): Decision;
    settle(limit: string, key: Key, decision: Decision, actual: Cost): void;
    cancel(limit: string, key: Key, decision: Decision): void;
    wait(limit: string, key: Key, cost?: Cost, options?: WaitOptions): Promise<Decision>;
    hold(limit: string, key: Key, cost?: Cost, options?: HoldOptions): Promise<Hold>;
    hold<T>(
        limit: string,
        key: Key,
        work: (hold: Hold) => T,
        cost?: Cost,
        options?: HoldOptions,
    ): Promise<Awaited<T>>;
    renew(limit: string, key: Key, held: Decision | bigint): boolean;
    release(limit: string, key: Key, held: Decision | bigint): boolean;
    /** From all of up to 16 different keys, each [limit, key], or from none. */
    takeAll(asks: [limit: string, key: Key][], cost?: number): Decision[];
    forget(limit: string, key: Key): void;
    stats(): TableStats;
    close(): void;
}

/** What a tenant's call was told: by its own limits and by its parent's. */
export interface Taken {
    readonly allowed: boolean;
    /** It passed, but not by the tenant's guarantee. */
    readonly borrowed: boolean;
    readonly retryMs: number;
    readonly remaining: number;
    /** That of the tenant's own limits; refused: that which refuses for longest. */
    readonly decision: Decision;
    readonly parts: readonly Decision[];
}

/** Tenants of one limit: each is guaranteed its own rate ('20/s guaranteed; 80/s'), and borrows what the others leave.
 *  '*' is everybody else's limit, who only borrow.  Guarantees that are more than the parent's rate in total throw.
 *  All have a weight ('unlimited weight=1'), '*' too, or none: what is idle is shared by it. */
export class Tenants {
    constructor(table: Table, parent: string, tenants: Record<string, string>, options?: {key?: string});
    take(tenant: string, cost?: number): Taken;
    settle(taken: Taken, actual: number): void;
    cancel(taken: Taken): void;
}

/** RateLimit-Policy, RateLimit and, of a refusal, Retry-After. */
export function headers(decision: Decision): Record<string, string>;

/** Each item when it is due, on a schedule that makes up for lost time.  A Limiter of yours records how long the loop
 *  has each.  Where a profile ends, so does the loop. */
export function pace<T>(
    items: Iterable<T> | AsyncIterable<T>,
    limit: string | Limiter,
    options?: {signal?: AbortSignal},
): AsyncGenerator<T, void, undefined>;

/** The clock of startNs and takeAt. */
export function nowNs(): bigint;
export const version: string;
