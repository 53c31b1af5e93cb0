// SPDX-License-Identifier: MIT
// What callers pass, checked before the addon sees it: a text with a NUL would be cut there, a number would be another.
'use strict';

const {inspect} = require('node:util');

const FOREVER = 2n ** 64n - 1n;

function checkWhole(value, least, what) {
    if (Number.isSafeInteger(value) && value >= least) return;
    throw new RangeError(`expected ${what}: a whole number from ${least} up, not ${inspect(value)}`);
}

function checkCost(cost) {
    checkWhole(cost, 0, 'a cost');
}

function checkText(text, what) {
    if (typeof text === 'string' && !text.includes('\0')) return;
    throw new TypeError(`expected ${what}, not ${inspect(text)}`);
}

function checkLimit(limit) {
    checkText(limit, "a limit, for example '10/s burst=20'");
}

function checkKey(key) {
    if (typeof key === 'string' || key instanceof Uint8Array) return;
    throw new TypeError(`expected a key: a string or bytes, not ${inspect(key)}`);
}

// A name that is misspelt would be a limit that is not there.
function checkOptions(options, ...names) {
    const expected = `expected options {${names.join(', ')}}`;
    if (typeof options !== 'object' || options === null) throw new TypeError(`${expected}, not ${inspect(options)}`);
    const unknown = Object.keys(options).find((name) => !names.includes(name));
    if (unknown !== undefined) throw new TypeError(`${expected}, not ${unknown}`);
}

function timeNs(now, what = 'a time in ns, as nowNs() returns it') {
    if (typeof now === 'bigint' && now >= 0n && now <= FOREVER) return now;
    checkWhole(now, 0, what);
    return BigInt(now);
}

function delayNs(maxMs) {
    if (maxMs === undefined || maxMs === Infinity) return FOREVER;
    if (typeof maxMs === 'number' && maxMs >= 0) return BigInt(Math.floor(Math.min(maxMs * 1e6, 1.8e19)));
    throw new RangeError(`expected maxMs: milliseconds from 0 up, not ${inspect(maxMs)}`);
}

function oneOf(value, names, what) {
    const index = names.indexOf(value);
    if (index >= 0) return index;
    throw new RangeError(`expected ${what}: ${names.join(', ')}, not ${inspect(value)}`);
}

module.exports = {
    FOREVER,
    checkCost,
    checkKey,
    checkLimit,
    checkOptions,
    checkText,
    checkWhole,
    delayNs,
    oneOf,
    timeNs,
};
