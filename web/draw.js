// SPDX-License-Identifier: MIT
// What the plots of both pages have in common: colours, areas, lines, axes.

const plots = [];

function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function countLabels(u, splits) {
    return splits.map((n) => (n < 1e5 ? formCount(n) : compact.format(n)));
}

// As wide as the longest label, so that none is cut.
function labelsWidth(u, labels) {
    return 18 + 7 * Math.max(4, ...(labels || []).map((label) => label.length));
}

function area(name) {
    return {
        stroke: () => colour(name), fill: () => colour(name), width: 0,
        paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
    };
}

function line(name) {
    return { ...area(name), fill: undefined, width: 1 };
}

function axis(more) {
    return {
        stroke: () => colour('--muted'), font: '12px system-ui, sans-serif',
        grid: { stroke: () => colour('--grid'), width: 1 },
        ticks: { stroke: () => colour('--grid'), width: 1, size: 5 },
        ...more,
    };
}

const wholeSteps = [...Array(16).keys()].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const u of plots) u.redraw(false, true);
});
