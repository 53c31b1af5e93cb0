// SPDX-License-Identifier: MIT
// A server of four processes in which each client may send 10 requests a second, whichever process it meets.
//
//     node examples/server.mjs 8080
import cluster from 'node:cluster';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {Table, headers} from 'libweir';

const limit = process.env.LIMIT ?? '10/s burst=20';

if (cluster.isPrimary) {
    for (let i = 0; i < 4; i++) cluster.fork();
    cluster.on('exit', (worker) => worker.exitedAfterDisconnect || cluster.fork());
} else {
    const table = new Table({path: process.env.TABLE ?? `${tmpdir()}/libweir-example`, keys: 10_000});
    createServer((request, response) => {
        const decision = table.take(limit, request.socket.remoteAddress);
        response.writeHead(decision.allowed ? 200 : 429, headers(decision));
        response.end(decision.allowed ? 'hello\n' : 'too many requests\n');
    }).listen(Number(process.argv[2] ?? 8080), '127.0.0.1');
}
