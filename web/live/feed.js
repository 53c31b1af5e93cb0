// SPDX-License-Identifier: MIT
// Asks the service each second, and keeps the last ten minutes.  Draws nothing.
//
// Only what is new is asked for.  While nobody looks nothing is asked; while nobody answers less and less is.

const feed = {
    report: null, // the last one, less its samples
    samples: [],
    changed: () => {}, // a report has come
    moved: () => {}, // feed.state is another: 'live', 'paused' or 'away'
    state: 'starting',
    why: '', // it is away
    waitMs: 0, // until it is asked again
    tops: [], // how often each key had been refused, lately
};
const feedKept = 600;
const feedEveryMs = 1000;
const feedPatienceMs = 5000;
const feedAwayMs = 15000; // asked at least so often
const topsKeptMs = 10000;

let feedTimer = null;
let feedAsking = false;

// ---- what has come ----

function sumCalls(all) {
    return all.reduce((sum, calls) => sum.map((n, i) => n + calls[i]), [0, 0, 0]);
}

function sampleOf([number, unixMs, p50, p99, max, keys, connections, calls]) {
    const byPlace = new Map(calls.map(([place, ...three]) => [place, three]));
    byPlace.set('all', sumCalls([...byPlace.values()]));
    return { number, unixMs, p50, p99, max, keys, connections, calls: byPlace };
}

function topId({ limit, key }) {
    return JSON.stringify([limit, key]);
}

function keepTop(report) {
    feed.tops = feed.tops.filter(({ unixMs }) => unixMs >= report.unix_ms - topsKeptMs && unixMs <= report.unix_ms);
    feed.tops.push({ unixMs: report.unix_ms, denied: new Map(report.top.map((row) => [topId(row), row.denied])) });
}

// Refusals a second, lately; null where the key was not among the most refused before.
function topRate(row) {
    const [first] = feed.tops;
    const before = first && first.denied.get(topId(row));
    const seconds = first ? (feed.report.unix_ms - first.unixMs) / 1e3 : 0;
    return before === undefined || seconds < 1 ? null : (row.denied - before) / seconds;
}

// Another service, or places that went to other limits: then what was kept means nothing now.
function isContinued(report) {
    return feed.report === null ||
        (report.started_unix_ms === feed.report.started_unix_ms && report.layout === feed.report.layout);
}

function forget() {
    feed.report = null;
    feed.samples = [];
    feed.tops = [];
}

// Returns whether there is more to be asked for at once.
function feedTake(report) {
    if (!isContinued(report)) {
        forget();
        return true;
    }
    const { samples, ...rest } = report;
    feed.samples = [...feed.samples, ...samples.map(sampleOf)].slice(-feedKept);
    feed.report = rest;
    keepTop(rest);
    if (!report.more) feed.changed();
    return report.more;
}

// ---- asking ----

async function feedAsk() {
    const control = new AbortController();
    const patience = setTimeout(() => control.abort(), feedPatienceMs);
    const since = feed.samples.length > 0 ? feed.samples[feed.samples.length - 1].number : 0;
    try {
        const answer = await fetch(`v1/stats?since=${since}`, { cache: 'no-store', signal: control.signal });
        if (!answer.ok) throw new Error(`it answers ${answer.status}`);
        return await answer.json();
    } finally {
        clearTimeout(patience);
    }
}

function feedMove(state, why) {
    feed.state = state;
    feed.why = why;
    feed.moved();
}

async function feedOnce() {
    try {
        const more = feedTake(await feedAsk());
        feed.waitMs = more ? 0 : feedEveryMs;
        if (feed.state !== 'live') feedMove('live', '');
    } catch (error) {
        feed.waitMs = Math.min(feedAwayMs, Math.max(feedEveryMs, 2 * feed.waitMs));
        const silent = error instanceof TypeError || error.name === 'AbortError';
        feedMove('away', silent ? 'it does not answer' : error.message);
    }
}

async function feedTurn() {
    clearTimeout(feedTimer);
    if (feedAsking) return;
    if (document.hidden) {
        feedMove('paused', '');
        return;
    }
    feedAsking = true;
    await feedOnce();
    feedAsking = false;
    feedTimer = setTimeout(feedTurn, feed.waitMs);
}

function feedStart() {
    document.addEventListener('visibilitychange', feedTurn);
    feedTurn();
}
