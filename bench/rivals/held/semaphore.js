// SPDX-License-Identifier: MIT
// semaphore.js URL: a slot by redis-semaphore, as ./run orders, a line each.  It refreshes when it is told to renew and
// not by a timer of its own, so that all peers renew at the same moments.
const Redis = require('ioredis');
const { Semaphore } = require('redis-semaphore');

const client = new Redis(process.argv[2]);
let semaphore;
const orders = {
    limit: (slots, _, lease) => {
        const lockTimeout = parseInt(lease.replace('lease=', ''), 10);
        semaphore = new Semaphore(client, 'job', Number(slots),
            { lockTimeout, refreshInterval: 0, acquireAttemptsLimit: 1, retryInterval: 1 });
        return true;
    },
    take: () => semaphore.tryAcquire(),
    renew: () => semaphore._refresh(),
    release: () => semaphore.release(),
};

(async () => {
    for await (const line of require('node:readline').createInterface({ input: process.stdin })) {
        const [order, ...words] = line.split(' ');
        console.log(await orders[order](...words) === true ? 'yes' : 'no');
    }
    process.exit();
})();
