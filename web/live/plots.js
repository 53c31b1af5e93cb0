// SPDX-License-Identifier: MIT
// The plots of the last minutes: calls as areas over each other, latencies and keys as lines.
//
// All have the same time, and one cursor.  What is not in view is not drawn.

const view = { seconds: 300, index: null }; // index: of the sample under the cursor
const plotFont = '11px system-ui, sans-serif';
const rateSeconds = 10; // a figure of "now" is the mean of so many

// ---- figures ----

function lastSamples(count) {
    return feed.samples.slice(-count);
}

function callsAt(sample, place) {
    return sample.calls.get(place) || [0, 0, 0];
}

// Offered, denied, shadowed: a second under the cursor, or a second of now.
function callsShown(place) {
    const pointed = view.index === null ? undefined : feed.samples[view.index];
    if (pointed) return callsAt(pointed, place);
    const last = lastSamples(rateSeconds);
    return sumCalls(last.map((sample) => callsAt(sample, place))).map((n) => n / Math.max(1, last.length));
}

function callsInView(place) {
    return sumCalls(lastSamples(view.seconds).map((sample) => callsAt(sample, place)));
}

function formRate(n) {
    return n === 0 || n >= 100 ? formCount(Math.round(n)) : String(Number(n.toPrecision(2)));
}

// ---- columns ----

// A second ends where the next one begins: without a point more the last would not be drawn.
function timesOf() {
    const times = feed.samples.map(({ unixMs }) => unixMs / 1e3 - 1);
    return times.length > 0 ? [...times, times[times.length - 1] + 1] : [];
}

function widened(values) {
    return values.length > 0 ? [...values, values[values.length - 1]] : [];
}

function callColumns(place) {
    const calls = feed.samples.map((sample) => callsAt(sample, place));
    const offered = widened(calls.map(([n]) => n));
    const allowed = widened(calls.map(([n, denied]) => n - denied));
    const plain = widened(calls.map(([n, denied, shadowed]) => n - denied - shadowed));
    return [timesOf(), offered, allowed, plain, offered];
}

// Where nothing was asked there is no latency.
function latencyColumns() {
    const column = (name) => widened(feed.samples.map((sample) => sample[name] || null));
    return [timesOf(), column('max'), column('p99'), column('p50')];
}

function keyColumns() {
    return [timesOf(), widened(feed.samples.map(({ keys }) => keys))];
}

// ---- plots ----

function clockLabels(u, splits, axisIndex, space, incr) {
    return splits.map((seconds) => new Date(seconds * 1e3).toTimeString().slice(0, incr < 60 ? 8 : 5));
}

// Of a service that has just begun there is no more than that to be seen.
function secondsShown() {
    return Math.min(view.seconds, Math.max(60, feed.samples.length));
}

function timeRange() {
    const end = feed.samples.length > 0 ? feed.samples[feed.samples.length - 1].unixMs / 1e3 : Date.now() / 1e3;
    return [end - secondsShown(), end];
}

function pointedAt(u) {
    const { left } = u.cursor;
    const index = left >= 0 ? u.posToIdx(left) : null;
    const last = feed.samples.length - 1;
    view.index = index === null || last < 0 ? null : Math.min(index, last);
    view.pointed();
}

function liveOptions(place, height, series, y) {
    return {
        width: place.clientWidth, height, padding: [6, 10, 0, 0], legend: { show: false },
        scales: { x: { range: timeRange }, y: y.scale },
        axes: [
            axis({ values: clockLabels, space: 64, size: 28, font: plotFont }),
            axis({ values: y.values, size: labelsWidth, incrs: y.incrs, space: 28, font: plotFont }),
        ],
        series: [{}, ...series],
        cursor: { y: false, points: { show: false }, sync: { key: 'weir' }, drag: { x: false, y: false } },
        hooks: { setCursor: [pointedAt] },
    };
}

const countAxis = {
    values: countLabels, incrs: wholeSteps,
    scale: { range: (u, least, most) => [0, Math.max(1, most * 1.08)] },
};

// Latencies differ by powers of ten.
const isPower = (n) => n !== null && Number.isInteger(Math.log10(n));
const latencyAxis = {
    values: (u, splits) => splits.map((ns) => (isPower(ns) ? formDuration(ns) : '')),
    scale: {
        distr: 3,
        range: (u, least, most) => [10 ** Math.floor(Math.log10(least || 1e3)),
            10 ** Math.ceil(Math.log10((most || 1e6) * 1.05))],
    },
};

function callSeries() {
    return [area('--refused'), area('--shadowed'), area('--allowed'), line('--offered')];
}

function lineSeries(names) {
    return names.map((name) => ({ ...line(name), width: 1.5 }));
}

// The keyboard moves the cursor of all plots, as the mouse does.
function moveBy(u, steps) {
    const last = feed.samples.length - 1;
    const index = Math.min(last, Math.max(0, (view.index === null ? last + 1 : view.index) + steps));
    const left = u.valToPos(feed.samples[index].unixMs / 1e3 - 0.5, 'x');
    for (const one of plots) one.setCursor({ left, top: 0 }, false);
    pointedAt(u.cursor.left >= 0 ? u : plots[0]);
}

function leavePlots() {
    for (const one of plots) one.setCursor({ left: -10, top: -10 }, false);
    view.index = null;
    view.pointed();
}

function plotPressed(u, event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey || feed.samples.length === 0) return;
    if (steps) moveBy(u, steps);
    else if (event.key === 'Escape') leavePlots();
    else return;
    event.preventDefault();
}

function refreshPlot(u) {
    if (u.seen) u.setData(u.columns());
}

// A plot that is drawn when it is seen, and again when something has come.
function livePlot(place, height, series, y, columns) {
    const u = new uPlot(liveOptions(place, height, series, y), columns(), place);
    u.columns = columns;
    u.seen = true;
    plots.push(u);
    new ResizeObserver(() => {
        if (place.clientWidth !== u.width) u.setSize({ width: place.clientWidth, height });
    }).observe(place);
    const watch = new IntersectionObserver(([entry]) => {
        u.seen = entry.isIntersecting;
        refreshPlot(u);
    }, { rootMargin: '200px' });
    watch.observe(place);
    place.addEventListener('keydown', (event) => plotPressed(u, event));
    place.addEventListener('blur', leavePlots);
    u.leave = () => {
        watch.disconnect();
        plots.splice(plots.indexOf(u), 1);
        u.destroy();
    };
    return u;
}

function refreshPlots() {
    for (const u of plots) refreshPlot(u);
}
