// SPDX-License-Identifier: MIT
import type {TableOptions} from './index';

interface Told {
    totalHits: number;
    resetTime: Date;
}

/** What express-rate-limit asks of a store. */
export class WeirStore {
    /** path: a file that all processes share.  keys: clients in use at once (100,000).  prefix: before each key. */
    constructor(options?: Omit<TableOptions, 'plan'> & {prefix?: string});
    localKeys: boolean;
    prefix: string;
    init(options: {windowMs: number}): void;
    increment(key: string): Told;
    decrement(key: string): void;
    resetKey(key: string): void;
    get(key: string): Told | undefined;
    shutdown(): void;
}
