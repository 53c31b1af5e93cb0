// SPDX-License-Identifier: MIT
// Holding slots of a concurrent limit: until release, in the order of the calls; and costs by unit.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {setTimeout as sleep} from 'node:timers/promises';
import {Limiter, Refused, Table} from 'libweir';

// A limiter, and a key of a table that is used like one.
function both(limit) {
    const table = new Table({keys: 100, plan: limit});
    const names = ['take', 'reserve', 'wait', 'charge', 'peek', 'settle', 'cancel', 'hold', 'renew', 'release'];
    return [new Limiter(limit), Object.fromEntries(names.map((name) => [name, table[name].bind(table, limit, 'a')]))];
}

test('slots are held until they are released', async () => {
    for (const limiter of both('2 concurrent lease=1h')) {
        const first = await limiter.hold();
        const second = await limiter.hold(1, {maxMs: 0});
        assert.notEqual(first.id, second.id);
        await assert.rejects(limiter.hold(1, {maxMs: 0}), (error) => {
            assert.ok(error instanceof Refused && error.decision.retryMs > 3_590_000);
            return true;
        });
        assert.ok(second.renew());
        assert.ok(second.release() && !second.release() && !second.renew() && !second.lost);
        assert.equal(limiter.take().allowed, true);
        assert.equal(await limiter.hold(() => 5, 1, {maxMs: 0}).catch((error) => error.name), 'Refused');
        first.release();
        assert.equal(await limiter.hold(async (hold) => hold.renew()), true);
        await assert.rejects(limiter.hold(() => Promise.reject(new Error('mine'))), /mine/);
        assert.equal(limiter.take().allowed, true);
        assert.equal(limiter.take().allowed, false);
    }
});

test('using', {skip: Symbol.dispose ? false : 'this Node has no Symbol.dispose'}, async () => {
    const limiter = new Limiter('1 concurrent lease=1h');
    (await limiter.hold())[Symbol.dispose]();
    await (await limiter.hold())[Symbol.asyncDispose]();
    assert.ok(limiter.take().allowed);
});

test('a stale id does nothing', async () => {
    const limiter = new Limiter('1 concurrent lease=5s', {clock: 'manual'});
    limiter.setTime(1);
    const late = await limiter.hold();
    limiter.setTime(5_000_000_001n);
    const next = await limiter.hold();
    assert.ok(!late.renew() && late.lost && !limiter.release(late.id) && !limiter.renew(late.decision));
    assert.ok(limiter.renew(next.id) && !limiter.take().allowed && !next.lost);
    limiter.setTime(20_000_000_000n);
    assert.ok(!next.release() && next.lost);
    assert.throws(() => limiter.release('5'), /expected an id/);
});

test('only a concurrent limit is held', async () => {
    for (const limiter of both('10/s')) {
        const words = /no limit of '10\/s.*' is concurrent; for example '20 concurrent lease=30s'/;
        await assert.rejects(limiter.hold(), words);
        assert.equal(limiter.take().id, 0n);
    }
});

test('waiters are woken by a release, in the order of their calls', async () => {
    for (const limiter of both('1 concurrent lease=1h')) {
        const held = await limiter.hold();
        const order = [];
        const stopped = new AbortController();
        const gone = limiter.hold(() => order.push('never'), 1, {signal: stopped.signal});
        const work = [0, 1, 2, 3].map((number) => limiter.hold(async () => {
            await sleep(1);
            order.push(number);
        }));
        const late = limiter.hold(() => order.push('late'), 1, {maxMs: 20});
        await assert.rejects(late, Refused);
        stopped.abort(new Error('stopped'));
        await assert.rejects(gone, /stopped/);
        assert.deepEqual(order, []);
        held.release();
        await Promise.all(work);
        assert.deepEqual(order, [0, 1, 2, 3]);
        assert.ok(limiter.take().allowed);
    }
});

test('who wants less does not overtake, and all that is free is taken', async () => {
    for (const limiter of both('2 concurrent lease=1h')) {
        const held = await limiter.hold();
        const large = limiter.hold(() => {}, 2);
        await assert.rejects(limiter.hold(1, {maxMs: 50}), Refused);
        held.release();
        await large;
        const all = await limiter.hold(2);
        const small = [limiter.hold(), limiter.hold()];
        all.release();
        for (const hold of await Promise.all(small)) hold.release();
    }
});

test('a lease that is over lets the next one in; renew keeps it', async () => {
    const limiter = new Limiter('1 concurrent lease=90ms');
    const late = await limiter.hold();
    const next = await limiter.hold(1, {renew: true});
    assert.ok(!late.renew() && late.lost);
    await assert.rejects(limiter.wait(1, {maxMs: 300}), Refused);
    next.release();
    assert.ok(!next.lost && limiter.take().allowed);
    limiter.setLimit('2 concurrent lease=90ms');
    assert.ok(limiter.take().allowed);
});

test('operations hold', async () => {
    const limiter = new Limiter('1 concurrent lease=1h', {use: 'pace'});
    assert.equal(await limiter.operation(() => limiter.take().verdict), 'deny');
    assert.ok(limiter.take().allowed);
});

test('a process that is killed frees its slot at once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'libweir-'));
    const path = join(folder, 'table');
    const limit = '1 concurrent lease=1h';
    const holder = `
        const table = new (require('libweir').Table)({path: ${JSON.stringify(path)}, keys: 100, plan: '${limit}'});
        table.hold('${limit}', 'backup').then(() => process.stdout.write('held'));
        setTimeout(() => {}, 3_600_000);`;
    const table = new Table({path, keys: 100, plan: limit});
    for (let i = 0; i < 3; i++) {
        const child = spawn(process.execPath, ['-e', holder], {stdio: ['ignore', 'pipe', 'inherit']});
        await once(child.stdout, 'data');
        await assert.rejects(table.hold(limit, 'backup', 1, {maxMs: 50}), Refused);
        setTimeout(() => child.kill('SIGKILL'), 50);
        await table.hold(limit, 'backup', () => {}, 1, {maxMs: 30_000});
    }
    table.close();
    rmSync(folder, {recursive: true});
});

// ---- costs by unit ----

const LLM = '60 requests/min; 1k tokens/min';

test('costs by unit', () => {
    for (const limiter of both(LLM)) {
        const call = limiter.take({tokens: 800});
        assert.equal(limiter.take({tokens: 300}).verdict, 'deny');
        limiter.settle(call, {tokens: 300});
        assert.ok(limiter.take({tokens: 600, requests: 2}).allowed);
        assert.ok(!limiter.take({tokens: 90, requests: 58}).allowed);
        limiter.cancel(limiter.take({tokens: 90, requests: 57}));
        assert.ok(limiter.take({tokens: 90, requests: 57}).allowed);
        assert.ok(!limiter.take({tokens: 0, requests: 1}).allowed);
    }
    assert.ok(new Limiter('10 tokens/s').take({tokens: 10}).allowed);
});

test('costs by unit are reserved and waited for', async () => {
    for (const limiter of both('100 requests/s; 1k tokens/s')) {
        await limiter.wait({tokens: 1000});
        const ahead = limiter.reserve({tokens: 50});
        assert.ok(ahead.allowed && ahead.delayMs > 30 && ahead.delayMs <= 50);
        const begun = performance.now();
        await limiter.wait({tokens: 50});
        assert.ok(performance.now() - begun > 30);
    }
});

test('one number does not say of what', async () => {
    const words = /limits count requests and tokens: write \{tokens: [15]\}/;
    for (const limiter of both(LLM)) {
        for (const name of ['take', 'reserve', 'charge'])
            assert.throws(() => limiter[name](5), words);
        await assert.rejects(limiter.wait(), words);
        assert.throws(() => limiter.take({requests: 2}), words);
        assert.throws(() => limiter.take({tokens: 2, bytes: 3}), /no limit counts bytes: requests, tokens/);
        assert.throws(() => limiter.take({tokens: '2'}), /expected tokens: a whole number/);
        const call = limiter.take({tokens: 8});
        assert.throws(() => limiter.settle(call, 5), words);
        assert.ok(limiter.charge({tokens: 2000}).allowed && !limiter.take({tokens: 1}).allowed);
    }
});

test('a hold has a cost of each unit', async () => {
    for (const limiter of both('2 concurrent lease=1h; 1k tokens/h')) {
        const hold = await limiter.hold({tokens: 600});
        await assert.rejects(limiter.hold({tokens: 600}, {maxMs: 0}), Refused);
        await limiter.hold(() => {}, {tokens: 400}, {maxMs: 0});
        assert.ok(hold.renew() && hold.release());
    }
});
