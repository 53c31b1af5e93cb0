// SPDX-License-Identifier: MIT
// What the binding does with what people write.
import assert from 'node:assert/strict';
import {rmSync} from 'node:fs';
import {test} from 'node:test';
import {inspect} from 'node:util';
import {Worker} from 'node:worker_threads';
import {Decision, Limiter, Refused, Table, headers, nowNs, pace} from 'libweir';

const second = 1_000_000_000n;

test('a limit is kept', () => {
    const limiter = new Limiter('1/h burst=3');
    const verdicts = Array.from({length: 5}, () => limiter.take().verdict);
    assert.deepEqual(verdicts, ['allow', 'allow', 'allow', 'deny', 'deny']);
    assert.equal(limiter.take(4).verdict, 'never');
    assert.equal(limiter.limit, '1/h burst=3 algorithm=gcra');
});

test('what a decision says', () => {
    const limiter = new Limiter('10/s burst=2');
    const now = nowNs() + second;
    const first = limiter.takeAt(now);
    assert.ok(first instanceof Decision);
    assert.equal(first.remaining, 1);
    assert.equal(first.charged, 1);
    assert.equal(first.resetNs, 100_000_000n);
    limiter.takeAt(now);
    const refused = limiter.takeAt(now + 50_000_000n);
    assert.equal(refused.allowed, false);
    assert.equal(refused.retryNs, 50_000_000n);
    assert.equal(refused.retryMs, 50);
    assert.deepEqual(headers(refused), {
        'RateLimit-Policy': '"default";q=10;w=1;weir-burst=2',
        RateLimit: '"default";r=0;t=1',
        'Retry-After': '1',
    });
    assert.equal(first.remaining, 1, 'and goes on saying it');
});

test('a decision keeps its numbers when thousands follow', () => {
    const limiter = new Limiter('1/h burst=3000');
    const decisions = Array.from({length: 3000}, () => limiter.take());
    decisions.forEach((decision, i) => assert.equal(decision.remaining, 2999 - i));
});

test('reserve, cancel, settle, charge, peek, some', () => {
    const limiter = new Limiter('1/h burst=2');
    assert.equal(limiter.takeSome(5).charged, 2);
    const later = limiter.reserve();
    assert.ok(later.allowed && later.delayMs > 3_590_000 && later.delayMs <= 3_600_000);
    assert.equal(limiter.reserve(1, {maxMs: 1000}).allowed, false);
    limiter.cancel(later);
    const again = limiter.reserve();
    assert.ok(again.delayMs <= 3_600_000);
    limiter.cancel(again);

    const other = new Limiter('1/h burst=10');
    const guess = other.take(8);
    other.settle(guess, 3);
    assert.equal(other.peek(0).remaining, 7);
    other.charge(20);
    assert.equal(other.take().allowed, false);
});

test('mistakes are said', () => {
    assert.throws(() => new Limiter('10/M'), (error) => {
        assert.equal(error.code, 'ERR_WEIR');
        assert.equal(error.column, 4);
        assert.match(error.message, /10\/min/);
        return true;
    });
    assert.throws(() => new Limiter(10), /expected a limit/);
    assert.throws(() => new Limiter('1/s', {use: 'other'}), /admit, pace/);
    const limiter = new Limiter('1/s');
    for (const cost of [-1, 0.5, NaN, '1', 2 ** 53, null]) assert.throws(() => limiter.take(cost), /expected a cost/);
    assert.throws(() => limiter.reserve(1, {maxMs: -1}), /maxMs/);
    assert.throws(() => limiter.settle({}, 1), /expected a decision/);
    assert.throws(() => limiter.setLimit('nothing/s'));
    limiter.close();
    limiter.close();
    assert.throws(() => limiter.take(), /closed/);
    const table = new Table();
    assert.throws(() => table.take('1/s', undefined), /expected a key/);
    assert.throws(() => table.take('1/s algorithm=sliding-log', 'k'), /sliding-log|slot/);
    assert.throws(() => new Table({path: '/nowhere/at/all'}), /nowhere/);
    assert.throws(() => new Table({keys: 0}), /keys/);
    table.close();
    assert.throws(() => table.take('1/s', 'k'), /closed/);
});

test('an option that is not there is said, as what it would have been is missing', () => {
    assert.throws(() => new Table('/tmp/x.weir'), /expected options \{path, keys, plan, mode, whenFull\}, not '\/tmp/);
    assert.throws(() => new Table({pth: '/tmp/x.weir'}), /not pth/);
    const limiter = new Limiter('1/s');
    assert.throws(() => limiter.reserve(1, 500), /maxMs/);
    assert.throws(() => limiter.setLimit('1/s', {keep: true}), /carry/);
    assert.throws(() => new Limiter('1/s', null), /use/);
    for (const text of ['1/s\0junk', ['1/s'], Object.create(null)])
        assert.throws(() => new Limiter(text), /expected a limit/);
    assert.throws(() => new Table({path: 'x\0y'}), /expected a path/);
    assert.throws(() => new Table({mode: '660'}), /mode/);
    assert.throws(() => new Table({whenFull: 'drop'}), /inherit, evict/);
    for (const now of [-1n, 2n ** 64n, 1.5, undefined]) assert.throws(() => limiter.takeAt(now), /expected a time/);
});

test('never is for ever; what is logged', () => {
    const limiter = new Limiter('1/h burst=1');
    const never = limiter.take(2);
    assert.equal(never.retryMs, Infinity);
    assert.equal(never.retryNs, 2n ** 64n - 1n);
    assert.equal(limiter.take().retryMs, 0);
    assert.equal(JSON.parse(JSON.stringify(never)).verdict, 'never');
    assert.match(inspect(limiter.take()), /^Decision \{\s+allowed: false,\s+verdict: 'deny'/);
    limiter.setLimit('pause');
    assert.equal(limiter.take().retryMs, Infinity);
});

test('the memory of a decision is out of reach', () => {
    const decision = new Limiter('1/h').take();
    assert.deepEqual(Reflect.ownKeys(decision), []);
    const prototype = Object.getOwnPropertyDescriptors(Decision.prototype);
    for (const [name, {get}] of Object.entries(prototype))
        if (get) assert.ok(['boolean', 'string', 'number', 'bigint'].includes(typeof decision[name]), name);
});

test('after close: a clear error, and waiters end as they would', async () => {
    const limiter = new Limiter('1/h burst=1');
    const decision = limiter.take();
    const stop = new AbortController();
    const wait = limiter.wait(1, {signal: stop.signal});
    limiter.close();
    stop.abort(new Error('enough'));
    await assert.rejects(wait, /enough/);
    assert.equal(decision.remaining, 0);
    assert.throws(() => decision.resetNs, /closed/);
    assert.throws(() => headers(decision), /closed/);
});

test('a thousand waiters of one signal: no warning', async () => {
    const warnings = [];
    process.on('warning', (warning) => warnings.push(warning));
    const limiter = new Limiter('1/h burst=1');
    limiter.take();
    const stop = new AbortController();
    const waits = Array.from({length: 1000}, () => limiter.wait(1, {signal: stop.signal}));
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    for (const wait of await Promise.allSettled(waits)) assert.equal(wait.status, 'rejected');
    assert.ok(limiter.reserve().delayMs <= 3_600_000, 'all is given back');
    await assert.rejects(limiter.wait(1, {signal: {}}), /AbortSignal/);
    assert.deepEqual(warnings, []);
});

test('wait: starts are in the order of the calls, and never early', async () => {
    const limiter = new Limiter('1000/s burst=1');
    const starts = await Promise.all(
        Array.from({length: 30}, async () => {
            const decision = await limiter.wait();
            assert.ok(nowNs() >= decision.startNs);
            return decision.startNs;
        }),
    );
    assert.ok(starts.every((start, i) => i === 0 || start > starts[i - 1]));
});

test('10,000 waiters: none early', async () => {
    const limiter = new Limiter('20000/s burst=1');
    let early = 0;
    await Promise.all(
        Array.from({length: 10_000}, async () => {
            const decision = await limiter.wait();
            if (nowNs() < decision.startNs) early++;
        }),
    );
    assert.equal(early, 0);
});

test('wait: given up, refused', async () => {
    const limiter = new Limiter('1/h burst=1');
    limiter.take();
    const stop = new AbortController();
    const wait = limiter.wait(1, {signal: stop.signal});
    stop.abort(new Error('enough'));
    await assert.rejects(wait, /enough/);
    await assert.rejects(limiter.wait(1, {signal: AbortSignal.abort()}), /abort/i);
    await assert.rejects(limiter.wait(2), (error) => error instanceof Refused && error.decision.verdict === 'never');
    await assert.rejects(limiter.wait(1, {maxMs: 5}), Refused);
    const next = limiter.reserve();
    assert.ok(next.delayMs <= 3_600_000, 'what was given up is free again');
});

test('pace', async () => {
    const seen = [];
    for await (const item of pace(['a', 'b', 'c'], '1000/s')) seen.push(item);
    assert.deepEqual(seen, ['a', 'b', 'c']);
});

test('when operations were due, and how long they took', () => {
    const limiter = new Limiter('1000/s', {use: 'pace', clock: 'manual'});
    const ms = 1_000_000n;
    limiter.setTime(second);
    assert.equal(limiter.take().dueNs, second);
    limiter.setTime(second + 5n * ms);
    const late = limiter.take(3);
    assert.equal(late.startNs - late.dueNs, 4n * ms);
    assert.deepEqual([1, 2, 3].map((nth) => limiter.dueNs(late, nth) - late.dueNs), [0n, ms, 2n * ms]);
    limiter.setTime(second + 7n * ms);
    limiter.done(late);
    limiter.doneAt(limiter.dueNs(late, 3), late.startNs, second + 8n * ms);
    const {response, service} = limiter.latency();
    assert.deepEqual([response.count, response.maxMs, service.minMs, service.totalMs], [2, 6, 2, 5]);
    const buckets = limiter.latencyBuckets('service');
    assert.deepEqual(buckets.map(({count}) => count), [1, 1]);
    assert.ok(buckets[0].mostNs >= 2n * ms && buckets[0].mostNs < 2_002_000n);
    assert.equal(limiter.latencyBuckets().length, 2);
    assert.throws(() => limiter.latencyBuckets('wait'), /response, service/);
    assert.throws(() => limiter.dueNs(late, 0), /nth/);
    assert.throws(() => limiter.done({}), /expected a decision/);
});

test('profiles and arrivals', async () => {
    const starts = (limit) => {
        const limiter = new Limiter(limit, {use: 'pace', clock: 'manual'});
        return Array.from({length: 4}, () => limiter.reserve().startNs);
    };
    assert.deepEqual(starts('100/s..1000/s for 30s'), [0n, 9985045n, 19940358n, 29866202n]);
    assert.deepEqual(starts('1000/s arrivals=poisson seed=7'), [0n, 645605n, 1842473n, 1903288n]);

    const limiter = new Limiter('1000/s for 5ms then pause 5ms then 1000/s for 5ms', {use: 'pace'});
    const seen = [];
    for await (const item of pace(Array(100).keys(), limiter)) seen.push(item);
    assert.deepEqual(seen, [...Array(10).keys()]);
    assert.equal(limiter.latency().response.count, 10);
    await assert.rejects(limiter.wait(), /its profile has ended/);
    limiter.setLimit('pause');
    await assert.rejects(pace([1], limiter).next(), /the limiter is paused/);
    assert.ok(limiter.paused);
});

test('operations, and items of a pace, are recorded', async () => {
    const limiter = new Limiter('1000/s', {use: 'pace'});
    const early = await limiter.operation(async ({startNs}) => nowNs() < startNs);
    assert.equal(early, false);
    const failing = limiter.operation(async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        throw new Error('of the work');
    });
    await assert.rejects(failing, /of the work/);
    for await (const item of pace([1, 2, 3], limiter)) assert.ok(item);
    await assert.rejects(limiter.operation(fetch('data:,')), /expected work: a function, not Promise/);
    const {response, service} = limiter.latency();
    assert.equal(response.count, 5);
    assert.ok(service.maxMs >= 19 && response.maxMs >= 19);
    const hourly = new Limiter('1/h');
    hourly.take();
    await assert.rejects(hourly.operation(() => assert.fail(), 1, {maxMs: 0}), Refused);
    assert.equal(hourly.latency().response.count, 0, 'what was refused has not run');
});

test('a table: keys, bytes, long keys, forget', () => {
    const table = new Table({keys: 100});
    const long = 'x'.repeat(5000);
    for (const key of ['', 'user:42', 'ключ', long, Buffer.from([0, 1, 2]), new Uint8Array(3)]) {
        assert.equal(table.take('1/h', key).allowed, true);
        assert.equal(table.take('1/h', key).allowed, false);
        table.forget('1/h', key);
        assert.equal(table.take('1/h', key).allowed, true);
    }
    assert.equal(table.take('1/h', `${long}y`).allowed, true, 'long keys are whole');
    assert.equal(table.take('1/h', Buffer.from('user:42')).allowed, false, 'a text is its bytes');
    assert.ok(table.stats().keysLive >= 6);
});

test('a table keeps other algorithms when it is told', () => {
    const limit = '2/h algorithm=sliding-log';
    const table = new Table({keys: 100, plan: limit});
    assert.deepEqual([1, 2, 3].map(() => table.take(limit, 'k').allowed), [true, true, false]);
});

test('a file is shared with worker threads', async () => {
    const path = `${process.cwd()}/threads.weir`;
    rmSync(path, {force: true});
    const code = `
        const {Table} = require('libweir');
        const {parentPort, workerData} = require('node:worker_threads');
        const table = new Table({path: workerData, keys: 100});
        let passed = 0;
        for (let i = 0; i < 1000; i++) passed += table.take('100/h burst=1500', 'k').allowed;
        parentPort.postMessage(passed);`;
    const passed = await Promise.all(
        [1, 2, 3].map(
            () =>
                new Promise((resolve, reject) => {
                    const worker = new Worker(code, {eval: true, workerData: path});
                    worker.on('message', resolve);
                    worker.on('error', reject);
                }),
        ),
    );
    assert.equal(passed.reduce((a, b) => a + b), 1500);
});
