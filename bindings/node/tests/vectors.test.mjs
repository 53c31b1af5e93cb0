// SPDX-License-Identifier: MIT
// What other limiters answered, call by call (test/vectors/calls.py writes the lines of WEIR_CALLS).
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {Limiter} from 'libweir';

const answers = {
    allowed: (decision) => Number(decision.allowed),
    never: (decision) => Number(decision.verdict === 'never'),
    remaining: (decision) => decision.remaining,
    retry_ns: (decision) => decision.retryNs,
    reset_ns: (decision) => decision.resetNs,
    delay_ns: (decision) => decision.delayNs,
};

function ask(limiter, cost, delayMaxNs) {
    if (delayMaxNs === '0') return limiter.take(cost);
    return limiter.reserve(cost, {maxMs: Number(delayMaxNs) / 1e6});
}

function check(limiter, [now, cost, delayMaxNs, ...said], where) {
    limiter.setTime(BigInt(now));
    const decision = ask(limiter, Number(cost), delayMaxNs);
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
        else if (calls.some(([, , cost]) => !Number.isSafeInteger(Number(cost)))) others += calls.length;
        else {
            const limiter = new Limiter(text, {clock: 'manual'});
            for (const call of calls) check(limiter, call.slice(1), name);
            steps += calls.length;
        }
    }
    context.diagnostic(`${steps} steps, 0 mismatches; ${others} with costs above 2^53 not run`);
    assert.ok(steps > 2500);
});
