// SPDX-License-Identifier: MIT
// The contract of a store of express-rate-limit, as express.js writes it down.
import assert from 'node:assert/strict';
import {rmSync} from 'node:fs';
import {test} from 'node:test';
import {MemoryStore} from 'express-rate-limit';
import {WeirStore} from 'libweir/express';

function opened(options, windowMs = 3_600_000) {
    const store = new WeirStore({keys: 100, ...options});
    store.init({windowMs});
    return store;
}

const hits = async (store, key) => (await store.get(key))?.totalHits ?? 0; // MemoryStore remembers a key with 0

// What both do: the peer's own store says that this is the contract.
for (const [name, make] of [
    ['MemoryStore', () => new MemoryStore()],
    ['WeirStore', () => new WeirStore({keys: 100})],
]) {
    test(`increment, decrement, get, resetKey: ${name}`, async () => {
        const store = make();
        store.init({windowMs: 3_600_000});
        assert.equal(await hits(store, 'k'), 0);
        for (let i = 1; i <= 5; i++) assert.equal((await store.increment('k')).totalHits, i);
        assert.equal((await store.increment('other')).totalHits, 1);
        await store.decrement('k');
        await store.decrement('k');
        assert.equal(await hits(store, 'k'), 3, 'each of several under way is given back');
        assert.equal((await store.increment('k')).totalHits, 4);
        await store.decrement('never seen');
        assert.equal(await hits(store, 'never seen'), 0);
        await store.resetKey('k');
        assert.equal(await hits(store, 'k'), 0);
        assert.equal(await hits(store, 'other'), 1);
        const {resetTime} = await store.increment('k');
        assert.ok(resetTime > new Date() && resetTime - Date.now() <= 3_600_001);
        await store.shutdown();
    });
}

test('never below 0', () => {
    const store = opened();
    store.increment('k');
    for (let i = 0; i < 3; i++) store.decrement('k');
    assert.equal(store.get('k'), undefined);
    assert.equal(store.increment('k').totalHits, 1);
});

test('the window ends, and its hits are not given back to the next', async () => {
    const store = opened({}, 200);
    store.increment('k');
    const {resetTime} = store.increment('k');
    await new Promise((resolve) => setTimeout(resolve, resetTime - Date.now() + 5));
    assert.equal(store.get('k'), undefined);
    store.decrement('k');
    assert.equal(store.increment('k').totalHits, 1);
});

test('two stores share a file by their prefixes', () => {
    rmSync('store.weir', {force: true});
    const [a, again, b] = ['a:', 'a:', 'b:'].map((prefix) => opened({path: 'store.weir', prefix}));
    assert.equal(a.localKeys, false);
    assert.equal(a.increment('k').totalHits, 1);
    assert.equal(again.increment('k').totalHits, 2);
    assert.equal(b.increment('k').totalHits, 1);
    assert.equal(a.resetAll, undefined);
});

test('mistakes', () => {
    assert.throws(() => opened({path: '/nowhere/at/all'}), /nowhere/);
    assert.throws(() => opened({pth: '/tmp/x'}), /pth/);
    assert.throws(() => new WeirStore('/tmp/x'), /expected options/);
});
