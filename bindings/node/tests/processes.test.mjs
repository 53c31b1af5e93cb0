// SPDX-License-Identifier: MIT
// Processes with one file, of which some are killed: exactly N pass; and the front doors.
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {test} from 'node:test';
import {setTimeout as sleep} from 'node:timers/promises';
import express from 'express';
import {rateLimit} from 'express-rate-limit';
import fastify from 'fastify';
import {Table} from 'libweir';
import {WeirStore} from 'libweir/express';
import {limit} from 'libweir/fastify';
import {ask, passed, peers, withCluster} from './passes.mjs';

const asked = (port, count) => Promise.all(Array.from({length: count}, () => ask(port)));

test('a cluster of four, workers killed: exactly 500 pass', () =>
    withCluster('http', 'libweir', 500, 4, async (port, path) => {
        const answers = {200: 0, 429: 0, 0: 0};
        for (let round = 0; round < 40; round++) {
            if ([2, 12, 22].includes(round)) await ask(port, '/die'); // one of four lives, and keeps the port open
            for (const {status} of await asked(port, 25)) answers[status]++;
        }
        // A call whose answer was lost with its process may have been counted; the table knows.
        const seen = new Table({path, keys: 1000});
        assert.equal(seen.peek('1/h burst=500', '127.0.0.1', 0).remaining, 0);
        assert.ok(answers[200] <= 500, `${answers[200]} passed`);
        assert.ok(answers[200] >= 500 - answers[0], `${answers[200]} passed, ${answers[0]} answers were lost`);
        assert.ok(answers[429] > 0);
    }));

for (const door of Object.keys(peers))
    test(`8 processes behind ${door}: exactly 100 pass`, async () => {
        assert.equal(await passed(door, 'libweir', 100), 100);
    });

test('express-rate-limit gives failed requests back', async () => {
    const app = express();
    app.use(rateLimit({windowMs: 3_600_000, limit: 5, store: new WeirStore(), skipFailedRequests: true}));
    app.get('/', (_, response) => void setTimeout(() => response.sendStatus(500), 20));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    for (let i = 0; i < 3; i++) {
        const answers = await asked(server.address().port, 4);
        assert.deepEqual(answers.map(({status}) => status), [500, 500, 500, 500]);
    }
    server.close();
});

test('fastify', async () => {
    const server = fastify();
    server.addHook('onRequest', limit('1/h burst=2', new Table({keys: 100})));
    server.get('/', async () => 'hello');
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await server.inject('/'));
    assert.deepEqual(answers.map((answer) => answer.statusCode), [200, 200, 429]);
    assert.match(answers[0].headers.ratelimit, /r=1/);
    assert.match(answers[2].headers['retry-after'], /^\d+$/);
    assert.deepEqual(answers[2].json(), {statusCode: 429, error: 'Too Many Requests', message: 'Too many requests'});
    await server.close();
});

test('fastify: a request holds a slot until its end', async () => {
    const one = '1 concurrent lease=1h';
    const table = new Table({keys: 100, plan: one});
    const server = fastify();
    server.addHook('onRequest', limit(one, table));
    server.get('/', async () => table.peek(one, '127.0.0.1').verdict);
    server.get('/fails', async () => Promise.reject(new Error('as planned')));
    const url = await server.listen({host: '127.0.0.1', port: 0});
    const answers = [];
    for (const path of ['/', '/fails', '/']) {
        const response = await fetch(url + path);
        answers.push(response.status, path === '/' ? await response.text() : '');
        for (let i = 0; i < 100 && !table.peek(one, '127.0.0.1').allowed; i++) await sleep(10); // until its end is seen
    }
    assert.deepEqual(answers, [200, 'deny', 500, '', 200, 'deny']);
    assert.ok(table.take(one, '127.0.0.1').allowed);
    assert.equal((await fetch(url)).status, 429);
    await server.close();
});

test('fastify: nobody in particular passes, a wrong limit is said when it is given', async () => {
    const table = new Table({keys: 100});
    assert.throws(() => limit('10/secnd', table), /expected a period/);
    const server = fastify();
    server.addHook('onRequest', limit('1/h', table, {key: (request) => request.headers.user}));
    server.get('/', async () => 'hello');
    const answers = [];
    for (const user of [undefined, undefined, 'a', 'a', 'b'])
        answers.push((await server.inject({url: '/', headers: user && {user}})).statusCode);
    assert.deepEqual(answers, [200, 200, 200, 429, 200]);
    await server.close();
});
