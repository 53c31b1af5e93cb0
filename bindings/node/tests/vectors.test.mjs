// SPDX-License-Identifier: MIT
// What other limiters answered, call by call (test/vectors/calls.py writes the lines of WEIR_CALLS).  Left to the other
// bindings: waits, since only takeAt is told the time; and ELSEWHERE, windows on the clock of the day and cycles, which
// begin by clocks that are not told, and intervals of years, whose steps are more than a ns.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {Limiter, nowNs} from 'libweir';

const answers = {
    allowed: (decision) => Number(decision.allowed),
    never: (decision) => Number(decision.verdict === 'never'),
    remaining: (decision) => decision.remaining,
    retry_ns: (decision) => decision.retryNs,
    reset_ns: (decision) => decision.resetNs,
    delay_ns: (decision) => decision.delayNs,
};

const ELSEWHERE = /align=clock|cycle|\/\d{17,}ns/;
const START_NS = 100_000n * 86_400_000_000_000n; // of windows and logs; the others begin when the limiter is made

function check(limiter, madeNs, [now, cost, , ...said], where) {
    const time = BigInt(now);
    const decision = limiter.takeAt(time < START_NS ? time + madeNs : time, Number(cost));
    for (const one of said) {
        const [key, expected] = one.split('=');
        const [least, most = least] = expected.split('..');
        const got = BigInt(answers[key](decision));
        assert.ok(BigInt(least) <= got && got <= BigInt(most), `${where}, at ${now}: ${key} ${got}, not ${expected}`);
    }
}

// [['limit', text, name], ['call', ...], ...], one for each limit.
function* cases(lines) {
    let one = [];
    for (const line of lines.filter((each) => each !== '').map((each) => each.split('\t'))) {
        if (line[0] !== 'call') {
            if (one.length > 0) yield one;
            one = [];
        }
        one.push(line);
    }
    yield one;
}

test('vectors', (context) => {
    let steps = 0;
    let others = 0;
    const lines = readFileSync(process.env.WEIR_CALLS, 'utf8').split('\n');
    for (const [[kind, text, name, ...rest], ...calls] of cases(lines)) {
        if (kind === 'skipped') context.diagnostic([kind, text, name, ...rest].join(' '));
        else if (kind === 'refused') assert.throws(() => new Limiter(text), Error, name);
        else if (ELSEWHERE.test(text) || calls.some(([, , cost, wait]) => wait !== '0' || cost > 2 ** 53)) {
            others += calls.length;
        } else {
            const limiter = new Limiter(text);
            const madeNs = nowNs();
            for (const call of calls) check(limiter, madeNs, call.slice(1), name);
            steps += calls.length;
        }
    }
    context.diagnostic(`${steps} steps, 0 mismatches; ${others} others not run`);
    assert.ok(steps > 1000);
});
