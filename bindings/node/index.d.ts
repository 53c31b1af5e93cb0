// SPDX-License-Identifier: MIT

export type Verdict = 'allow' | 'deny' | 'never' | 'stopped';
export type Key = string | Uint8Array;

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
    take(cost?: number): Decision;
    takeSome(costMax: number): Decision;
    takeAt(nowNs: bigint | number, cost?: number): Decision;
    peek(cost?: number): Decision;
    charge(cost: number): Decision;
    reserve(cost?: number, options?: ReserveOptions): Decision;
    settle(decision: Decision, actual: number): void;
    cancel(decision: Decision): void;
    wait(cost?: number, options?: WaitOptions): Promise<Decision>;
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
    operation<T>(work: (decision: Decision) => T, cost?: number, options?: WaitOptions): Promise<Awaited<T>>;
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
    take(limit: string, key: Key, cost?: number): Decision;
    takeAt(limit: string, key: Key, nowNs: bigint | number, cost?: number): Decision;
    peek(limit: string, key: Key, cost?: number): Decision;
    charge(limit: string, key: Key, cost: number): Decision;
    reserve(limit: string, key: Key, cost?: number, options?: ReserveOptions): Decision;
    settle(limit: string, key: Key, decision: Decision, actual: number): void;
    cancel(limit: string, key: Key, decision: Decision): void;
    wait(limit: string, key: Key, cost?: number, options?: WaitOptions): Promise<Decision>;
    forget(limit: string, key: Key): void;
    stats(): TableStats;
    close(): void;
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
