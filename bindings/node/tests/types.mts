// SPDX-License-Identifier: MIT
// Compiled, not run: the types say what there is.
import {rateLimit} from 'express-rate-limit';
import fastify from 'fastify';
import {Limiter, Table, Tenants, headers, pace, type Decision, type Hold} from 'libweir';
import {WeirStore} from 'libweir/express';
import {limit} from 'libweir/fastify';

const limiter = new Limiter('10/s burst=20', {use: 'admit'});
const decision: Decision = limiter.take();
const told: Record<string, string> = headers(decision);
const waited: Promise<Decision> = limiter.wait(1, {signal: AbortSignal.timeout(10), maxMs: 5});
const ns: bigint = decision.retryNs;
const table = new Table({path: '/tmp/x', keys: 10});
table.take('1/s', new Uint8Array(2)).allowed satisfies boolean;
for await (const item of pace([1, 2], '1/s')) item satisfies number;
for await (const item of pace([1, 2], limiter)) item satisfies number;
const status: Promise<number> = limiter.operation(async ({dueNs}) => Number(dueNs));
limiter.latency().response.p99Ms satisfies number;
rateLimit({windowMs: 1000, limit: 1, store: new WeirStore({path: '/tmp/y'})});
fastify().addHook('onRequest', limit('1/s', table));
const held: Promise<Hold> = limiter.hold({tokens: 5}, {renew: true});
limiter.release((await held).id) satisfies boolean;
(await table.hold('2 concurrent lease=30s', 'k', async (hold) => hold.id)) satisfies bigint;
{
    using hold = await limiter.hold();
    hold.lost satisfies boolean;
}
new Tenants(table, '9/s', {a: '1/s guaranteed', '*': '2/s'}, {key: 'api'}).take('a').borrowed satisfies boolean;
// @ts-expect-error a cost is a number
limiter.take('1');
export {told, waited, ns, status};
