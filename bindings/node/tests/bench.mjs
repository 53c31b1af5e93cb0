// SPDX-License-Identifier: MIT
// What a call costs, ours beside the peers', in one run; bindings/node/bench runs it.
// Prints cost, SETTING, WHO and NS, with tabs between: of wall time, the least of rounds that go in turns over all.
// Shared by processes, peers have 50 calls under way at once, which favours them; ours has one.  Where they wait, all
// have 50: bottleneck starts each job by a timer.
import {spawn, spawnSync} from 'node:child_process';
import cluster from 'node:cluster';
import {mkdtempSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import Bottleneck from 'bottleneck';
import {MemoryStore} from 'express-rate-limit';
import Redis from 'ioredis';
import {Limiter, Table} from 'libweir';
import {WeirStore} from 'libweir/express';
import {
    RateLimiterCluster,
    RateLimiterClusterMaster,
    RateLimiterMemory,
    RateLimiterQueue,
    RateLimiterRedis,
} from 'rate-limiter-flexible';

const ROUNDS = 9;
const MANY = 1_000_000_000;
const AT_ONCE = 50;
const keys = Array.from({length: 1000}, (_, i) => `user:${i}`);
const key = (i) => keys[i % keys.length];
let counted = 0; // so that no call is for nothing

// ---- how a contender is called n times ----

const plain = (call) => (n) => {
    for (let i = 0; i < n; i++) counted += call(i);
};
const awaited = (call) => async (n) => {
    for (let i = 0; i < n; i++) await call(i);
};
const atOnce = (call) => async (n) => {
    for (let i = 0; i < n; i += AT_ONCE) await Promise.all(Array.from({length: AT_ONCE}, (_, j) => call(i + j)));
};
const consume = (limiter) => (i) => limiter.consume(key(i)).catch(() => {});

// ---- settings: who, calls a round, how ----

function settings(folder, redis) {
    const rows = [];
    const flexible = {points: MANY, duration: 3600};
    const {nothing} = createRequire(import.meta.url)('./floor.node');
    for (const [suffix, text, peer] of [
        ['', `${MANY}/s burst=${MANY}`, flexible],
        [', refused', '1/h burst=1', {points: 1, duration: 3600}],
    ]) {
        const limiter = new Limiter(text);
        const own = new Table({keys: 100_000});
        const shared = new Table({path: join(folder, 'table.weir'), keys: 100_000});
        const one = `one process${suffix}`;
        rows.push([one, 'Limiter.take', 100_000, plain(() => limiter.take().allowed)]);
        rows.push([one, 'Table.take', 100_000, plain((i) => own.take(text, key(i)).allowed)]);
        rows.push([one, 'rate-limiter-flexible, memory', 20_000, awaited(consume(new RateLimiterMemory(peer)))]);
        rows.push([one, 'floor: an empty N-API call', 100_000, plain(() => nothing(0, 1, 2, 3) === undefined)]);
        const all = `shared by processes${suffix}`;
        const prefix = suffix ? 'refused' : 'passed';
        rows.push([all, 'Table.take, a file', 100_000, plain((i) => shared.take(text, prefix + key(i)).allowed)]);
        const ofCluster = new RateLimiterCluster({...peer, keyPrefix: prefix, timeoutMs: 5000});
        rows.push([all, 'rate-limiter-flexible, cluster', 1000, atOnce(consume(ofCluster))]);
        if (redis === undefined) continue;
        const ofRedis = new RateLimiterRedis({...peer, keyPrefix: prefix, storeClient: redis});
        rows.push([all, 'rate-limiter-flexible, redis', 1000, atOnce(consume(ofRedis))]);
    }
    const limiter = new Limiter(`${MANY}/s burst=${MANY}`);
    const bottleneck = new Bottleneck({reservoir: MANY});
    const queue = new RateLimiterQueue(new RateLimiterMemory(flexible));
    const wait = 'one process, wait, a permit is there';
    rows.push([wait, 'Limiter.wait', 20_000, atOnce(() => limiter.wait())]);
    rows.push([wait, 'bottleneck, schedule', 500, atOnce(() => bottleneck.schedule(async () => {}))]);
    rows.push([wait, 'rate-limiter-flexible, queue', 5000, atOnce(() => queue.removeTokens(1))]);
    const store = new WeirStore({path: join(folder, 'store.weir')});
    const memory = new MemoryStore();
    for (const each of [store, memory]) each.init({windowMs: 3_600_000});
    const increment = 'a store of express-rate-limit, increment';
    rows.push([increment, 'WeirStore, a file', 20_000, awaited((i) => store.increment(key(i)))]);
    rows.push([increment, 'MemoryStore, one process', 20_000, awaited((i) => memory.increment(key(i)))]);
    return rows;
}

async function measure(rows) {
    const least = rows.map(() => Infinity);
    for (let round = 0; round < ROUNDS; round++) {
        for (const [i, [, , calls, run]] of rows.entries()) {
            const begun = process.hrtime.bigint();
            await run(calls);
            least[i] = Math.min(least[i], Number(process.hrtime.bigint() - begun) / calls);
        }
    }
    const names = [...new Set(rows.map(([setting]) => setting))];
    for (const name of names) {
        rows.forEach(([setting, who], i) => {
            if (setting === name) console.log(['cost', setting, who, least[i].toFixed(1)].join('\t'));
        });
    }
}

// ---- the processes: this one counts for its cluster, a worker measures ----

async function startRedis() {
    if (spawnSync('redis-server', ['--version']).error) return {};
    const probe = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => probe.once('listening', resolve));
    const port = String(probe.address().port);
    await new Promise((resolve) => probe.close(resolve));
    const options = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    return {port, server: spawn('redis-server', options, {stdio: 'ignore'})};
}

if (cluster.isPrimary) {
    const folder = mkdtempSync(join(tmpdir(), 'libweir-bench-'));
    const {port, server} = await startRedis();
    if (server === undefined) console.error('bench: redis-server is not here: its row is missing');
    new RateLimiterClusterMaster();
    const worker = cluster.fork({FOLDER: folder, REDIS: port ?? ''});
    worker.on('exit', (status) => {
        server?.kill();
        rmSync(folder, {recursive: true});
        process.exitCode = status ?? 1;
    });
} else {
    const redis = process.env.REDIS ? new Redis(Number(process.env.REDIS), '127.0.0.1') : undefined;
    await sleep(200); // the cluster's limiters find each other
    await measure(settings(process.env.FOLDER, redis));
    process.exit(counted > 0 ? 0 : 1);
}
