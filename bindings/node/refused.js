// SPDX-License-Identifier: MIT
// What ends a wait without a start: a refusal, or a signal.
'use strict';

// Thrown by wait(): what was asked for may not start.
class Refused extends Error {
    constructor(decision) {
        const {verdict, retryMs} = decision;
        const late = retryMs === Infinity ? 'nothing is due any more: the limiter is paused, or its profile has ended'
            : `it would pass in ${retryMs} ms`;
        const ahead = 'the time is over, and others are ahead of it';
        super(`refused: ${{deny: late, allow: ahead}[verdict] ?? verdict}`);
        this.name = 'Refused';
        this.code = 'ERR_WEIR_REFUSED';
        this.decision = decision;
    }
}

const waiting = new WeakMap(); // by signal: what stops each of its waiters

// One listener a signal, which stops the newest first: a reservation with others behind it is not given back.
function onAbort(signal, stop) {
    let stops = waiting.get(signal);
    if (stops === undefined) {
        stops = new Set();
        waiting.set(signal, stops);
        signal.addEventListener('abort', () => [...stops].reverse().forEach((each) => each()), {once: true});
    }
    stops.add(stop);
    return () => stops.delete(stop);
}

module.exports = {Refused, onAbort};
