// SPDX-License-Identifier: MIT
// Compiled, not run: the types say what there is.
import {rateLimit} from 'express-rate-limit';
import fastify from 'fastify';
import {Limiter, Table, headers, pace, type Decision} from 'libweir';
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
// @ts-expect-error a cost is a number
limiter.take('1');
export {told, waited, ns, status};
