// SPDX-License-Identifier: MIT
// What a call costs: a number, or numbers by unit where the limits count several.
'use strict';

const {inspect} = require('node:util');
const {checkCost, checkWhole} = require('./arguments.js');

const LIMITS_MAX = 8; // as in weir.h

function sayUnits(units, number) {
    const known = [...new Set(units)];
    const example = known.find((unit) => unit !== 'requests');
    return new RangeError(`limits count ${known.join(' and ')}: write {${example}: ${number}}`);
}

// A number for each limit, in the words of what the addon takes.  otherwise: what a unit costs that is not named;
// undefined: 1 request, and the others must be.
function numbersOf(units, given, otherwise) {
    const foreign = Object.keys(given).find((unit) => !units.includes(unit));
    if (foreign !== undefined) throw new RangeError(`no limit counts ${foreign}: ${[...new Set(units)].join(', ')}`);
    const words = new BigUint64Array(2 * LIMITS_MAX); // the costs, and then what settling needs
    units.forEach((unit, i) => {
        const number = given[unit];
        if (number !== undefined) checkWhole(number, 0, unit);
        else if (otherwise === undefined && unit !== 'requests') throw sayUnits(units, 1);
        words[i] = number !== undefined ? BigInt(number) : otherwise === undefined ? 1n : otherwise[i];
    });
    return words;
}

// undefined: it costs the same number of each limit.
function costByUnit({units, isMixed}, cost) {
    if (typeof cost === 'object' && cost !== null) return numbersOf(units, cost);
    checkCost(cost);
    if (isMixed) throw sayUnits(units, cost);
    return undefined;
}

function checkNumber(source, cost) {
    if (costByUnit(source, cost) !== undefined) throw new RangeError(`expected a number, not ${inspect(cost)}`);
}

// What a decision that cost `each` has cost in the end.
function actualByUnit({units, isMixed}, each, actual) {
    if (typeof actual === 'object' && actual !== null) return numbersOf(units, actual, each);
    checkCost(actual);
    if (isMixed && actual !== 0) throw sayUnits(units, actual);
    return new BigUint64Array(2 * LIMITS_MAX).fill(BigInt(actual));
}

module.exports = {actualByUnit, checkNumber, costByUnit};
