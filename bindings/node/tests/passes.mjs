// SPDX-License-Identifier: MIT
// How many requests pass 8 processes with one limit, by each front door and its peer; bindings/node/passes runs it.
// Prints passed, DOOR, WHO, LIMIT and PASSED, with tabs between.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {get} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';

export const peers = {express: 'express-rate-limit', fastify: '@fastify/rate-limit', http: 'rate-limiter-flexible'};

// A request by a connection of its own, which goes to the next worker.  status 0: cut off.
export function ask(port, path = '/') {
    return new Promise((resolve) => {
        const asked = get({port, path, host: '127.0.0.1', agent: false}, (response) => {
            response.resume();
            response.on('end', () => resolve({status: response.statusCode, worker: response.headers['x-worker']}));
            response.on('close', () => resolve({status: 0}));
        });
        asked.on('error', () => resolve({status: 0}));
        asked.setTimeout(20_000, () => asked.destroy());
    });
}

// Calls use(port, path of the table) while a cluster serves.
export async function withCluster(door, who, limit, workers, use) {
    const folder = mkdtempSync(join(tmpdir(), 'libweir-node-'));
    const table = join(folder, 'table.weir');
    const primary = spawn(process.execPath, ['cluster.mjs'], {
        cwd: import.meta.dirname,
        env: {...process.env, DOOR: door, WHO: who, LIMIT: limit, TABLE: table, WORKERS: workers},
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(primary, 'exit');
    try {
        const failed = ended.then(() => Promise.reject(new Error(`${door} of ${who} does not start`)));
        const [port] = await Promise.race([once(createInterface(primary.stdout), 'line'), failed]);
        failed.catch(() => {});
        return await use(Number(port), table);
    } finally {
        primary.kill();
        await ended;
        rmSync(folder, {recursive: true});
    }
}

// How many pass until every process has refused one.
export function passed(door, who, limit, workers = 8) {
    return withCluster(door, who, limit, workers, async (port) => {
        const refused = new Set();
        let passes = 0;
        for (let round = 0; refused.size < workers && round < 10 * limit; round++) {
            const answers = await Promise.all(Array.from({length: workers}, () => ask(port)));
            for (const {status, worker} of answers) {
                if (status === 200) passes++;
                else if (status === 429) refused.add(worker);
                else throw new Error(`${door} of ${who} answered ${status}`);
            }
        }
        return passes;
    });
}

if (process.argv[1] === import.meta.filename) {
    for (const [door, peer] of Object.entries(peers)) {
        for (const who of [peer, 'libweir']) {
            const passes = await passed(door, who, 100);
            console.log(['passed', door, who, 100, passes].join('\t'));
        }
    }
}
