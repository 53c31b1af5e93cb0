// SPDX-License-Identifier: MIT
// Numbers, times and texts as people read them.  Touches nothing: values in, strings out.
'use strict';

const grouped = new Intl.NumberFormat('en-US');
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

function formCount(n) {
    return grouped.format(n);
}

// A noun behind a count: "1 client", "2 clients".
function formCounted(n, noun) {
    return `${formCount(n)} ${noun}${n === 1 ? '' : 's'}`;
}

// Nothing that happened reads as 0 %, and nothing that did not always happen as 100 %.
function formShare(part, whole) {
    if (whole === 0 || part === 0) return '0 %';
    if (part === whole) return '100 %';
    const percent = 100 * part / whole;
    if (percent < 0.01) return '< 0.01 %';
    if (percent > 99.99) return '> 99.99 %';
    return `${percent.toFixed(2)} %`;
}

// From one figure to another, or one where they are the same.
function formRange(one, other) {
    return one === other ? one : `${one} – ${other}`;
}

const longUnits = [['d', 86400e9], ['h', 3600e9], ['min', 60e9], ['s', 1e9]];
const shortUnits = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];

// The two largest units above a minute, three digits below.
function formDuration(ns) {
    if (ns < 60e9) {
        const [unit, size] = shortUnits.find(([, unitNs]) => ns >= unitNs) || shortUnits[3];
        return `${Number((ns / size).toPrecision(3))} ${unit}`;
    }
    const first = longUnits.findIndex(([, unitNs]) => ns >= unitNs);
    const [large, largeNs] = longUnits[first];
    const [small, smallNs] = longUnits[first + 1];
    const smalls = Math.round(ns / smallNs);
    const each = Math.round(largeNs / smallNs);
    const rest = smalls % each;
    return `${Math.floor(smalls / each)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

// 2026-11-20 14:03:05, with thousandths where they are asked for.
function formTime(seconds, thousandths) {
    return new Date(seconds * 1000).toISOString().replace('T', ' ').slice(0, thousandths ? 23 : 19);
}

// What the reader would not see, or what would turn the text around it, is spelled out.
function formText(text) {
    return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
        (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
}
