// SPDX-License-Identifier: MIT
// At most so many at once, whatever they are written in: hold.mjs PATH LIMIT KEY
//
//     node hold.mjs /dev/shm/backups.weir '3 concurrent lease=30s' nightly
//
// waits for a slot of the key, says "held", and holds it until its input ends.  Killed, it frees the slot at once.
import {Table} from 'libweir';

const [path, limit, key] = process.argv.slice(2);
const table = new Table({path, keys: 1000, plan: limit});
const held = await table.hold(limit, key, async (hold) => {
    console.log('held');
    for await (const _ of process.stdin); // what takes its time
    return hold;
}, 1, {renew: true});
console.log(held.lost ? 'lost' : 'released');
