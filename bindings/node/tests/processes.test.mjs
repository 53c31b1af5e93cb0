// SPDX-License-Identifier: MIT
// Four processes of cluster with one file, of which some are killed: exactly N pass; and the front doors.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {createServer, request} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import express from 'express';
import {rateLimit} from 'express-rate-limit';
import fastify from 'fastify';
import {Table} from 'libweir';
import {WeirStore} from 'libweir/express';
import {limit} from 'libweir/fastify';

const folder = mkdtempSync(join(tmpdir(), 'libweir-node-'));

function status(port, path = '/', {close = false} = {}) {
    return new Promise((resolve) => {
        const asked = request({port, path, host: '127.0.0.1', agent: close ? false : undefined}, (response) => {
            response.resume();
            response.on('end', () => resolve(response.statusCode));
            response.on('close', () => resolve(0)); // cut off
        });
        asked.on('error', () => resolve(0));
        asked.setTimeout(20_000, () => asked.destroy());
        asked.end();
    });
}

async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const {port} = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

const worker = `
import cluster from 'node:cluster';
import {createServer} from 'node:http';
import {Table} from 'libweir';
if (cluster.isPrimary) {
    for (let i = 0; i < 4; i++) cluster.fork();
    cluster.on('exit', () => cluster.fork());
} else {
    const table = new Table({path: process.env.TABLE, keys: 1000});
    createServer((request, response) => {
        if (request.url === '/die') process.kill(process.pid, 'SIGKILL');
        const {allowed} = table.take('1/h burst=500', 'everybody');
        response.writeHead(allowed ? 200 : 429).end();
    }).listen(Number(process.env.PORT), '127.0.0.1');
}`;

test('a cluster of four, workers killed: exactly 500 pass', async () => {
    writeFileSync('cluster-worker.mjs', worker);
    const port = await freePort();
    const table = join(folder, 'cluster.weir');
    const primary = spawn(process.execPath, ['cluster-worker.mjs'], {
        env: {...process.env, TABLE: table, PORT: String(port)},
        stdio: 'inherit',
    });
    try {
        let passed = 0;
        while ((await status(port, '/', {close: true})) === 0) await new Promise((done) => setTimeout(done, 50));
        const answers = {200: 1, 429: 0, 0: 0};
        for (let round = 0; round < 40; round++) {
            if (round % 5 === 2) await status(port, '/die', {close: true});
            const asked = Array.from({length: 25}, () => status(port, '/', {close: true}));
            for (const answer of await Promise.all(asked)) answers[answer]++;
        }
        passed = answers[200];
        // A call whose answer was lost with its process may have been counted; the table knows.
        const seen = new Table({path: table, keys: 1000});
        assert.equal(seen.peek('1/h burst=500', 'everybody', 0).remaining, 0);
        assert.ok(passed <= 500, `${passed} passed`);
        assert.ok(passed >= 500 - answers[0], `${passed} passed, ${answers[0]} answers were lost`);
        assert.ok(answers[429] > 0);
    } finally {
        primary.kill('SIGTERM');
    }
});

test('express-rate-limit', async () => {
    const app = express();
    const store = new WeirStore({path: join(folder, 'express.weir'), keys: 1000});
    app.use('/skip', rateLimit({windowMs: 3_600_000, limit: 2, store: new WeirStore(), skipFailedRequests: true}));
    app.get('/skip', (_, response) => response.sendStatus(500));
    app.use(rateLimit({windowMs: 3_600_000, limit: 3, store}));
    app.get('/', (_, response) => response.send('hello'));
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const {port} = server.address();
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await status(port));
    assert.deepEqual(answers, [200, 200, 200, 429, 429]);
    const another = new WeirStore({path: join(folder, 'express.weir'), keys: 1000});
    another.init({windowMs: 3_600_000});
    const told = another.get('127.0.0.1');
    assert.equal(told.totalHits, 5);
    assert.ok(told.resetTime > new Date());
    another.resetKey('127.0.0.1');
    assert.equal(await status(port), 200);
    for (let i = 0; i < 4; i++) assert.equal(await status(port, '/skip'), 500, 'failed ones are given back');
    server.close();
});

test('the contract of a store', () => {
    const store = new WeirStore({keys: 100, prefix: 'p:'});
    store.init({windowMs: 60_000});
    assert.equal(store.get('k'), undefined);
    assert.equal(store.increment('k').totalHits, 1);
    assert.equal(store.increment('k').totalHits, 2);
    assert.equal(store.increment('other').totalHits, 1);
    store.decrement('k');
    assert.equal(store.get('k').totalHits, 1);
    store.decrement('never seen');
    store.resetKey('k');
    assert.equal(store.get('k'), undefined);
    assert.equal(store.localKeys, false);
    const {resetTime} = store.increment('k');
    assert.ok(resetTime.getTime() - Date.now() <= 60_001 && resetTime.getTime() > Date.now());
    store.shutdown();
});

test('fastify', async () => {
    const server = fastify();
    server.addHook('onRequest', limit('1/h burst=2', new Table({keys: 100})));
    server.get('/', async () => 'hello');
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await server.inject('/'));
    assert.deepEqual(answers.map((answer) => answer.statusCode), [200, 200, 429]);
    assert.match(answers[2].headers['retry-after'], /^\d+$/);
    assert.match(answers[0].headers.ratelimit, /r=1/);
    await server.close();
});
