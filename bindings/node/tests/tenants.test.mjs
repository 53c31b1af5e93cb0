// SPDX-License-Identifier: MIT
// Tenants by name: guarantees are kept whatever others do, and what is idle is borrowed.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Table, Tenants} from 'libweir';

test('guaranteed and borrowed', () => {
    const table = new Table({keys: 100});
    const texts = {acme: '2/d guaranteed; 5/d', bob: '3/d guaranteed', '*': '2/d'};
    const tenants = new Tenants(table, '6/d', texts, {key: 'api'});
    const told = Array.from({length: 6}, () => tenants.take('acme'));
    assert.deepEqual(told.map(({allowed, borrowed}) => [allowed, borrowed]),
        [[true, false], [true, false], [true, true], [true, true], [true, true], [false, false]]);
    assert.equal(told[5].decision.verdict, 'deny');
    assert.ok(told[5].retryMs > 3_600_000);
    for (let i = 0; i < 3; i++) {
        const {allowed, borrowed} = tenants.take('bob');
        assert.ok(allowed && !borrowed, 'its guarantee, though others borrowed');
    }
    assert.ok(!tenants.take('bob').allowed && !tenants.take('eve').allowed);
    tenants.cancel(told[0]);
    tenants.settle(told[1], 0);
    const again = tenants.take('acme');
    assert.ok(again.allowed && !again.borrowed);
    const other = new Tenants(table, '6/d', {bob: '3/d guaranteed'}, {key: 'another'});
    assert.ok(other.take('eve', 2).borrowed);
    assert.equal(other.take('bob', 2).remaining, 1);
});

test('those who are not defined only borrow', () => {
    const tenants = new Tenants(new Table({keys: 100}), '6/d', {bob: '3/d guaranteed', '*': '2/d'});
    assert.ok(tenants.take('eve', 2).borrowed && !tenants.take('eve').allowed && tenants.take('dan').borrowed);
    assert.ok(tenants.take('bob', 3).allowed && !tenants.take('dan').allowed);
});

test('what cannot be guaranteed is refused', () => {
    const table = new Table({keys: 100});
    const make = (tenants, options) => () => new Tenants(table, '100/s', tenants, options);
    const sum = /110\/s in total, more than the 100\/s of their parent, with the 80\/s of 'b'/;
    assert.throws(make({a: '30/s guaranteed', b: '80/s guaranteed; 90/s'}), sum);
    assert.throws(make({'*': '30/s guaranteed'}), /nobody knows how many/);
    assert.throws(make({a: '30/s weight=2', b: '8/s', '*': 'unlimited weight=1'}), /^\w*Error: 'b' has no weight and others/);
    assert.throws(make({a: '30/s guaranteed weight=2'}), /'\*' has no weight and others have one/);
    assert.throws(make({}, {key: 'a}'}), /brace/);
    assert.throws(make({a: '10/M'}), /M is a million/);
    assert.throws(() => table.takeAll([]), /1 to 16/);
    assert.throws(() => table.takeAll([['1/s', 5]]), /expected a key/);
});

test('what is idle is shared by weight', () => {
    const texts = {one: 'unlimited weight=1', four: '1/d guaranteed weight=4', '*': 'unlimited weight=1'};
    const tenants = new Tenants(new Table({keys: 100}), '100/d', texts);
    assert.ok(!tenants.take('four').borrowed);
    const passed = Array.from({length: 200}, () => tenants.take('one').allowed).filter(Boolean).length;
    assert.ok(passed > 40 && passed < 80, `${passed}: who is in the lead leaves half of the burst to others`);
    assert.ok(tenants.take('four').borrowed && tenants.take('eve').borrowed && !tenants.take('one').allowed);
});

test('takeAll takes from all or none, on any page of decisions', () => {
    const table = new Table({keys: 10_000});
    const asks = [['5/d', 'a'], ['2/d', Buffer.from('b')]];
    const passed = Array.from({length: 200}, () => table.takeAll(asks)).map((parts) => parts.every((it) => it.allowed));
    assert.deepEqual(passed.slice(0, 4), [true, true, false, false]);
    assert.equal(table.peek('5/d', 'a', 0).remaining, 3);
    const several = Array.from({length: 300}, (_, i) => table.takeAll([['1/d', `${i}`], ['9/d', `b${i}`]]));
    assert.ok(several.every(([one, other]) => one.remaining === 0 && other.remaining === 8));
});
