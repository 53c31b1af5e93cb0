// SPDX-License-Identifier: MIT
// What other limiters answered, step by step (test/vectors/peers): those whose limiter is a text of weir's.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {Limiter} from 'libweir';

const START_NS = 100_000n * 86_400_000_000_000n; // a whole number of every window
const files = {
    governor_gcra: (of) => `1/${of.emission_interval_ns}ns burst=${of.burst} algorithm=gcra`,
    throttled_gcra: (of) => `1/${of.emission_interval_ns}ns burst=${of.max_burst + 1} algorithm=gcra`,
    fixed_window_limits: (of) =>
        `${of.limit}/${of.window_ns}ns algorithm=fixed-window align=first count-refused`,
    moving_window_limits: (of) => `${of.limit}/${of.window_ns}ns algorithm=sliding-log edge=closed`,
    sliding_window_counter: (of) => `${of.limit}/${of.window_ns}ns algorithm=sliding-window`,
};

// Whole numbers above 2^53 as bigints.
function parse(text) {
    return JSON.parse(text.replace(/(?<=[:[]\s*)(\d{16,})(?=\s*[,}\]])/g, '"bigint:$1"'), (_, value) =>
        typeof value === 'string' && value.startsWith('bigint:') ? BigInt(value.slice(7)) : value,
    );
}

function reasonToSkip(case_) {
    const times = case_.steps.map((step) => BigInt(step.t_ns));
    if (case_.peer_quirk) return 'quirks of the peer';
    if (case_.clock_goes_back || times[0] < 0n || times.some((time, i) => i > 0 && time < times[i - 1]))
        return 'the clock goes back';
    if (case_.steps.some((step) => !['try', 'peek'].includes(step.op))) return 'other calls';
    if (case_.steps.some((step) => step.n !== undefined && !Number.isSafeInteger(step.n))) return 'costs above 2^53';
    return undefined;
}

for (const [file, textOf] of Object.entries(files)) {
    test(file, (context) => {
        const vectors = parse(readFileSync(`${process.env.VECTORS}/${file}.json`, 'utf8'));
        const skipped = {};
        let steps = 0;
        for (const case_ of vectors.cases) {
            const reason = vectors.peer_quirk ? 'quirks of the peer' : reasonToSkip(case_);
            if (reason !== undefined) {
                skipped[reason] = (skipped[reason] ?? 0) + case_.steps.length;
                continue;
            }
            const limiter = new Limiter(textOf(case_.limiter));
            for (const step of case_.steps) {
                if (step.op === 'peek') continue;
                const decision = limiter.takeAt(START_NS + BigInt(step.t_ns), step.n ?? 1);
                const where = `${case_.name}, at ${step.t_ns}`;
                if (step.allowed !== undefined) assert.equal(decision.allowed, step.allowed, where);
                if (step.never !== undefined) assert.equal(decision.verdict === 'never', step.never, where);
                if (file === 'governor_gcra' && typeof step.retry_after_ns === 'number')
                    assert.equal(decision.retryNs, BigInt(step.retry_after_ns), where);
                steps++;
            }
        }
        context.diagnostic(`${file}: ${steps} steps; skipped: ${JSON.stringify(skipped)}`);
        assert.ok(steps > 0);
    });
}
