// SPDX-License-Identifier: MIT
// One plot for each limit, all over the same time: cursor and zoom are shared.
//
// The areas lie over each other, the largest first: what is offered shows where it was refused, what is allowed where
// it was delayed.  A step of time is drawn as wide as it is.

const plotHeight = 190;
const stepsAtLeast = 4; // closer than that there is nothing more to see

// Labels of times: the day where it is not the label's before.
function timeLabels(u, splits, axis, space, incr) {
    let day = '';
    return splits.map((seconds) => {
        const [date, clock] = formTime(seconds, true).split(' ');
        const label = incr >= 86400 ? '' : clock.slice(0, incr >= 60 ? 5 : incr >= 1 ? 8 : 12);
        const isNew = date !== day;
        day = date;
        return isNew ? `${label}\n${date}` : label;
    });
}

// Half a label of time may stand out on the right.
function plotOptions(width, stepNs, hooks) {
    return {
        width, height: plotHeight, padding: [8, stepNs < 2e9 ? 42 : 34, 0, 0], legend: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), 'UTC'),
        scales: { y: { range: (u, least, most) => [0, Math.max(1, most * 1.05)] } },
        axes: [
            axis({ values: timeLabels, space: 90, size: 44 }),
            axis({ values: countLabels, size: labelsWidth, incrs: wholeSteps, space: 36 }),
        ],
        series: [{}, area('--refused'), area('--allowed'), area('--at-once'), line('--offered')],
        cursor: { y: false, points: { show: false }, sync: { key: 'weir' }, drag: { x: true, y: false } },
        hooks,
    };
}

// The last step ends where another would begin: without that point it would not be drawn.
function plotColumns(series, limit) {
    const stepS = series.step_ns / 1e9;
    const widen = (values) => [...values, values[values.length - 1]];
    const times = [...Array(series.offered.length + 1).keys()].map((i) => series.first_s + i * stepS);
    const allowed = series.offered.map((n, i) => n - limit.denied_steps[i]);
    const atOnce = allowed.map((n, i) => n - limit.delayed_steps[i]);
    return [times, widen(series.offered), widen(allowed), widen(atOnce), widen(series.offered)];
}

// The steps that are in view, or the one under the cursor.
function stepsShown(u, series) {
    const stepS = series.step_ns / 1e9;
    const last = series.offered.length - 1;
    const stepAt = (seconds) => Math.min(last, Math.max(0, Math.floor((seconds - series.first_s) / stepS + 1e-6)));
    if (u.cursor.left >= 0) {
        const step = stepAt(u.posToVal(u.cursor.left, 'x'));
        return { from: step, to: step };
    }
    return { from: stepAt(u.scales.x.min), to: stepAt(u.scales.x.max - stepS / 1e3) };
}

function sumOf(values, from, to) {
    return values.slice(from, to + 1).reduce((sum, n) => sum + n, 0);
}

// All plots show the same time; without arguments all of it.
function zoomTo(series, from, to) {
    const stepS = series.step_ns / 1e9;
    const all = series.offered.length * stepS;
    const width = Math.min(all, Math.max(stepsAtLeast * stepS, to - from));
    const min = Math.min(Math.max(from, series.first_s), series.first_s + all - width);
    for (const u of plots) u.setScale('x', { min, max: min + width });
}

function zoomOut(series) {
    zoomTo(series, -Infinity, Infinity);
}

// By hand it is one plot's alone: only what the mouse does is shared by itself.
function setCursors(left) {
    for (const u of plots) u.setCursor({ left, top: left });
}

function moveCursor(u, series, steps) {
    const stepS = series.step_ns / 1e9;
    const shown = stepsShown(u, series);
    const start = u.cursor.left >= 0 ? shown.from + steps : Math.floor((shown.from + shown.to) / 2);
    const step = Math.min(series.offered.length - 1, Math.max(0, start));
    const left = u.valToPos(series.first_s + (step + 0.5) * stepS, 'x');
    if (left >= 0 && left <= u.over.clientWidth) setCursors(left);
}

// The keyboard does what the mouse does; returns whether the key was one of ours.
function plotKey(u, series, key) {
    const { min, max } = u.scales.x;
    const middle = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, 'x') : (min + max) / 2;
    const zoom = (factor) => zoomTo(series, middle - (middle - min) * factor, middle + (max - middle) * factor);
    const keys = {
        ArrowLeft: () => moveCursor(u, series, -1), ArrowRight: () => moveCursor(u, series, 1),
        '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2),
        0: () => zoomOut(series), Escape: () => { setCursors(-10); zoomOut(series); },
    };
    if (!(key in keys)) return false;
    keys[key]();
    return true;
}

function drawPlot(place, series, limit, changed) {
    const told = (u) => changed(stepsShown(u, series));
    const hooks = { setCursor: [told], setScale: [told], ready: [told] };
    const options = plotOptions(place.clientWidth, series.step_ns, hooks);
    const u = new uPlot(options, plotColumns(series, limit), place);
    plots.push(u);
    new ResizeObserver(() => {
        if (place.clientWidth !== u.width) u.setSize({ width: place.clientWidth, height: plotHeight });
    }).observe(place);
    return u;
}
