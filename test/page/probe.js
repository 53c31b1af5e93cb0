// SPDX-License-Identifier: MIT
// Stands at the end of a copy of the page (look.sh), measures what it has become, and tells the frame's
// parent.  Judges nothing: look.py does.
'use strict';

// ---- what lies where ----

// The part of a box that its ancestors let be seen.
function probeClip(box, from) {
    let { left, top, right, bottom } = box;
    for (let node = from; node && node !== document.documentElement; node = node.parentElement) {
        const style = getComputedStyle(node);
        if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
        const outer = node.getBoundingClientRect();
        left = Math.max(left, outer.left);
        right = Math.min(right, outer.right);
        top = Math.max(top, outer.top);
        bottom = Math.min(bottom, outer.bottom);
    }
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : null;
}

function probeTexts() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const parent = text.parentElement;
        if (text.data.trim() === '' || parent.closest('script, noscript, .unseen')) continue;
        if (!parent.checkVisibility()) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        for (const box of range.getClientRects()) {
            const seen = probeClip(box, parent);
            if (seen) found.push({ ...seen, name: text.data.slice(0, 30), owner: text });
        }
    }
    return found;
}

function probeBoxes() {
    const nodes = [...document.querySelectorAll('canvas, .proportion, .meter, .value i')];
    const drawn = nodes.filter((node) => node.checkVisibility()).map((node) => {
        const seen = probeClip(node.getBoundingClientRect(), node.parentElement);
        return seen && { ...seen, name: node.className || node.tagName, owner: node };
    });
    return [...probeTexts(), ...drawn.filter((box) => box)];
}

function probeOverlaps() {
    const boxes = probeBoxes().sort((a, b) => a.top - b.top);
    const pairs = [];
    boxes.forEach((one, i) => {
        for (let j = i + 1; j < boxes.length && boxes[j].top < one.bottom - 2; j++) {
            const other = boxes[j];
            const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
            const high = Math.min(one.bottom, other.bottom) - other.top;
            // Lines of one text touch where the font is taller than the line.
            if (one.owner !== other.owner && wide > 1 && high > 3) pairs.push(`${one.name} | ${other.name}`);
        }
    });
    const outside = boxes.filter((box) => box.left < 0 || box.right > innerWidth + 1).length;
    return { boxes: boxes.length, pairs, outside };
}

// ---- colours ----

function probeRgb(name) {
    const hex = colour(name);
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function probeContrast(one, other) {
    const light = (name) => probeRgb(name).map((part) => part / 255)
        .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0.05);
    const [bright, dark] = [light(one), light(other)].sort((a, b) => b - a);
    return bright / dark;
}

// How many pixels of a canvas have each colour.
function probePixels(canvas) {
    const { data: bytes } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const counts = {};
    for (const name of ['--refused', '--allowed', '--at-once', '--offered']) {
        const wanted = [...probeRgb(name), 255];
        counts[name] = 0;
        for (let i = 0; i < bytes.length; i += 4) {
            if (wanted.every((part, at) => bytes[i + at] === part)) counts[name]++;
        }
    }
    return counts;
}

// ---- what it says and does ----

function probeRows(table) {
    return [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent));
}

function probeSort(table) {
    const heads = [...table.tHead.rows[0].cells];
    const click = (i) => {
        heads[i].firstChild.click();
        return { sorted: heads.map((head) => head.getAttribute('aria-sort')), rows: probeRows(table) };
    };
    return { first: probeRows(table), byRequests: click(1), byRequestsAgain: click(1), byClient: click(0) };
}

function probeRanges() {
    return plots.map((u) => [u.scales.x.min, u.scales.x.max]);
}

function probeReadouts() {
    return [...document.querySelectorAll('.readout')].map((place) => place.textContent);
}

// No animation frames come in a browser without a screen whose time is made up.
const probePause = () => new Promise((done) => { setTimeout(done, 20); });

async function probeMouse(type, u, part) {
    const box = u.over.getBoundingClientRect();
    const at = { clientX: box.left + box.width * part, clientY: box.top + box.height / 2, movementX: 1, bubbles: true };
    u.over.dispatchEvent(new MouseEvent(type, at));
    await probePause();
}

async function probeKey(key) {
    const place = document.querySelectorAll('.plot');
    place[place.length - 1].dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    await probePause();
}

async function probeZoom() {
    if (plots.length === 0) return null;
    const steps = {};
    const note = (name) => {
        const time = document.getElementById('time').textContent;
        steps[name] = { ranges: probeRanges(), readouts: probeReadouts(), time };
    };
    note('all');
    await probeMouse('mousemove', plots[0], 0.703);
    note('hover');
    await probeMouse('mousedown', plots[0], 0.25);
    await probeMouse('mousemove', plots[0], 0.75);
    await probeMouse('mouseup', plots[0], 0.75);
    note('dragged');
    await probeKey('Escape');
    note('escaped');
    await probeKey('+');
    note('plus');
    await probeKey('ArrowRight');
    await probeKey('ArrowRight');
    note('moved');
    steps.said = document.querySelector('[role=status]').textContent;
    document.getElementById('all').click();
    await probePause();
    await probeKey('Escape');
    note('again');
    return steps;
}

function probeReader() {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const labelOf = (part) => document.getElementById(part.getAttribute('aria-labelledby'));
    return {
        bareHeads: all('th:not([scope])').length,
        bareTables: all('table').filter((table) => !table.caption).length,
        barePlots: all('.plot').filter((place) => !place.getAttribute('aria-label') || place.tabIndex !== 0).length,
        bareSections: all('section').filter((part) => !labelOf(part)).length,
        nameless: all('button').filter((button) => button.textContent === '').length,
    };
}

async function probe() {
    await probePause();
    const found = {
        width: innerWidth, scrollWidth: document.documentElement.scrollWidth, title: document.title,
        text: document.body.innerText, background: getComputedStyle(document.documentElement).backgroundColor,
        contrast: { ink: probeContrast('--ink', '--paper'), muted: probeContrast('--muted', '--card') },
        foreign: document.querySelectorAll('img, svg, iframe, link, a, i:not([aria-hidden])').length,
        scripts: document.scripts.length, overlaps: probeOverlaps(), reader: probeReader(),
        pixels: [...document.querySelectorAll('canvas')].map(probePixels),
        tables: [...document.querySelectorAll('.hit table')].map(probeSort),
        series: data.series, limits: data.limits,
    };
    found.zoom = await probeZoom();
    parent.postMessage(JSON.stringify(found), '*');
}

addEventListener('load', probe);
