// SPDX-License-Identifier: MIT

/** What express-rate-limit asks of a store. */
export class WeirStore {
    /** path: a file that all processes share.  keys: clients in use at once (100,000). */
    constructor(options?: {path?: string; keys?: number; prefix?: string});
    localKeys: boolean;
    prefix: string;
    init(options: {windowMs: number}): void;
    increment(key: string): {totalHits: number; resetTime: Date};
    decrement(key: string): void;
    resetKey(key: string): void;
    get(key: string): {totalHits: number; resetTime: Date} | undefined;
    shutdown(): void;
}
