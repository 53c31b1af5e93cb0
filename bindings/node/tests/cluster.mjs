// SPDX-License-Identifier: MIT
// A server of WORKERS processes, in which everybody may send LIMIT requests a day: by DOOR, of WHO (libweir or its
// peer, as its own README has it, with its default store).  Prints its port when all listen; replaces workers that are
// killed.
import cluster from 'node:cluster';
import {createServer} from 'node:http';
import fastifyRateLimit from '@fastify/rate-limit';
import express from 'express';
import {rateLimit} from 'express-rate-limit';
import fastify from 'fastify';
import {Table} from 'libweir';
import {WeirStore} from 'libweir/express';
import {limit} from 'libweir/fastify';
import {RateLimiterMemory} from 'rate-limiter-flexible';

const {DOOR, WHO, TABLE, WORKERS} = process.env;
const permits = Number(process.env.LIMIT);
const text = `1/h burst=${permits}`;
const day = 86_400_000;
const ours = WHO === 'libweir';
const openTable = () => new Table({path: TABLE, keys: 1000});
const address = {host: '127.0.0.1', port: 0};

const doors = {
    async express() {
        const app = express();
        app.use((_, response, next) => next(void response.set('x-worker', process.pid)));
        app.use(rateLimit({windowMs: day, limit: permits, ...(ours && {store: new WeirStore({path: TABLE})})}));
        app.get('/', (_, response) => void response.send('hello'));
        app.listen(address.port, address.host);
    },

    async fastify() {
        const server = fastify();
        server.addHook('onRequest', (_, reply, done) => done(void reply.header('x-worker', process.pid)));
        if (ours) server.addHook('onRequest', limit(text, openTable()));
        else await server.register(fastifyRateLimit, {max: permits, timeWindow: day});
        server.get('/', async () => 'hello');
        await server.listen(address);
    },

    async http() {
        const table = ours && openTable();
        const peer = new RateLimiterMemory({points: permits, duration: day / 1000});
        const theirs = (client) => peer.consume(client).then(() => true, () => false);
        createServer(async (request, response) => {
            if (request.url === '/die') process.kill(process.pid, 'SIGKILL');
            const client = request.socket.remoteAddress;
            const allowed = ours ? table.take(text, client).allowed : await theirs(client);
            response.writeHead(allowed ? 200 : 429, {'x-worker': process.pid}).end();
        }).listen(address);
    },
};

if (cluster.isPrimary) {
    let listening = 0;
    cluster.on('listening', (_, {port}) => {
        if (++listening === Number(WORKERS)) console.log(port);
    });
    cluster.on('exit', (_, status, signal) => {
        if (signal !== 'SIGKILL') process.exit(1);
        cluster.fork();
    });
    process.on('SIGTERM', () => {
        for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGKILL');
        process.exit();
    });
    for (let i = 0; i < Number(WORKERS); i++) cluster.fork();
} else {
    await doors[DOOR]();
}
