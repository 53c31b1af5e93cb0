// SPDX-License-Identifier: MIT
import type {Key, Table} from './index';

interface Reply {
    headers(values: Record<string, string>): unknown;
    raw: {once(event: 'close', listener: () => void): unknown};
}

/** An onRequest hook.  key: who is limited, the client's address unless it says another; undefined lets pass. */
export function limit<Request extends {ip: string}>(
    text: string,
    table: Table,
    options?: {key?: (request: Request) => Key | undefined; cost?: number},
): (request: Request, reply: Reply, done: (error?: Error) => void) => void;
