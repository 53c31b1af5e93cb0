// SPDX-License-Identifier: MIT
// The page: how it goes now, who is refused, each limit, how fast, how full, what happened.
//
// Names and keys come from outside: they only ever become text nodes and attributes, never HTML.

const nameMax = 80;
const nearlyFull = 0.9;
const fewCards = 12; // more are shown when asked for
const sortedEvery = 30; // seconds
const textPlace = 'limits given as text';

function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children.flat().filter((child) => child !== null));
    return made;
}

const byId = (id) => document.getElementById(id);

// Only where it is another: what is read out or marked stays as it is.
function say(place, text) {
    if (place.textContent !== text) place.textContent = text;
}

function section(id, title, ...children) {
    return element('section', { id: `section-${id}`, 'aria-labelledby': id },
        element('h2', { id }, title), ...children);
}

function plotPlace(label) {
    return element('div', { class: 'plot', role: 'img', tabindex: '0', 'aria-label': label });
}

function shortText(text) {
    const plain = formText(text);
    return plain.length > nameMax ? `${plain.slice(0, nameMax - 1)}…` : plain;
}

function limitName(name) {
    return name === '' || name === null ? textPlace : shortText(name);
}

function clockOf(unixMs) {
    return new Date(unixMs).toTimeString().slice(0, 8);
}

// ---- tiles: how it goes now ----

const tileNames = [['refused', 'Refused'], ['offered', 'Offered'], ['latency', 'Latency, p99'],
    ['fill', 'Table'], ['connections', 'Connections']];

function drawTiles() {
    const tiles = element('dl', { id: 'tiles' }, tileNames.map(([id, title]) => element('div', { class: `tile ${id}` },
        element('dt', {}, title), element('dd', {}, element('strong', { id: `tile-${id}` }, '–'),
            element('span', { class: 'more', id: `tile-${id}-more` }, '')))));
    return element('section', { id: 'section-now', 'aria-labelledby': 'now' },
        element('h2', { id: 'now', class: 'unseen' }, 'Now'), tiles);
}

function sayTile(id, value, more) {
    say(byId(`tile-${id}`), value);
    say(byId(`tile-${id}-more`), more);
}

// The slowest second of those that had any.
function latencyNow() {
    const asked = lastSamples(rateSeconds).filter(({ p99 }) => p99 > 0);
    return { p50: Math.max(0, ...asked.map(({ p50 }) => p50)), p99: Math.max(0, ...asked.map(({ p99 }) => p99)) };
}

function fillShare({ keys, keys_max: most }) {
    return most === 0 ? 0 : keys / most;
}

function updateTiles({ table, connections }) {
    const last = lastSamples(rateSeconds);
    const [offered, denied] = sumCalls(last.map((sample) => callsAt(sample, 'all')));
    const seconds = Math.max(1, last.length);
    const { p50, p99 } = latencyNow();
    sayTile('refused', `${formRate(denied / seconds)}/s`, `${formShare(denied, offered)} of what is offered`);
    sayTile('offered', `${formRate(offered / seconds)}/s`, `${formRate((offered - denied) / seconds)}/s allowed`);
    if (p99 === 0) sayTile('latency', '–', 'no requests');
    else sayTile('latency', formDuration(p99), `p50 ${formDuration(p50)}`);
    sayTile('fill', formShare(table.keys, table.keys_max), `${formCounted(table.keys, 'key')} in use`);
    sayTile('connections', formCount(connections.open),
        `${formCount(connections.cut)} cut, ${formCount(connections.refused)} rejected`);
}

// ---- notes: what wants to be looked at ----

function notesOf({ draining, table, engine }) {
    const notes = [];
    if (draining) notes.push('The service is stopping: what was asked is answered, new connections are not taken.');
    if (engine?.away) {
        notes.push('The engine does not answer: each server decides by itself, as its file says under away.');
    }
    if (fillShare(table) >= nearlyFull) {
        notes.push(`The table is ${formShare(table.keys, table.keys_max)} full. Give it more room with table.keys, ` +
            'or new keys will take the slots of others.');
    }
    return notes;
}

function updateNotes(report) {
    const place = byId('notes');
    const notes = notesOf(report);
    if (place.textContent === notes.join('')) return;
    place.replaceChildren(...notes.map((note) => element('p', { class: 'note' }, note)));
}

// ---- plots of calls ----

const callNames = [['offered', 'offered'], ['allowed', 'allowed'], ['shadowed', 'of that over the limit'],
    ['refused', 'refused']];

function callReadout(place) {
    const values = {};
    const rows = callNames.map(([name, words]) => {
        values[name] = element('b', {}, '');
        return element('span', { class: `value ${name}` }, element('i', { 'aria-hidden': 'true' }), `${words} `,
            values[name]);
    });
    const update = () => {
        const [offered, refused, shadowed] = callsShown(place);
        const shown = { offered, refused, shadowed, allowed: offered - refused };
        for (const name of Object.keys(values)) say(values[name], `${formRate(shown[name])}/s`);
        rows[2].hidden = shadowed === 0 && callsInView(place)[2] === 0;
    };
    return { readout: element('p', { class: 'readout' }, rows), update };
}

function callSummary(name, place) {
    const [offered, denied] = callsInView(place);
    return `${name}: ${formCount(offered)} offered in the last ${formDuration(view.seconds * 1e9)}, ` +
        `${formCount(denied)} refused (${formShare(denied, offered)}). Arrow keys move through time, Escape leaves.`;
}

// ---- all limits together ----

const ranges = [[60, '1 min'], [300, '5 min'], [600, '10 min']];

function drawRanges() {
    const chosen = ([seconds]) => (seconds === view.seconds ? { checked: '' } : {});
    return element('fieldset', { id: 'ranges' }, element('legend', { class: 'unseen' }, 'How much time is shown'),
        ranges.map(([seconds, words]) => element('label', {},
            element('input', { type: 'radio', name: 'range', value: seconds, ...chosen([seconds]) }),
            element('span', {}, words))));
}

function rangeChosen(event) {
    view.seconds = Number(event.target.value);
    leavePlots();
    if (feed.report === null) return;
    sortCards(limitsShown(feed.report));
    update();
}

// ---- who is refused ----

// What is told of a key may be over: by so much at most.
function refusedText({ denied, over }) {
    if (over === 0) return formCount(denied);
    return 2 * over > denied ? `up to ${formCount(denied)}` : `${formCount(denied - over)} – ${formCount(denied)}`;
}

function topRow(row) {
    const rate = topRate(row);
    const key = row.key === '' ? '(empty)' : formText(row.key);
    return [element('bdi', { class: 'key' }, row.cut ? `${key}…` : key),
        element('bdi', { class: 'name' }, limitName(row.limit)),
        refusedText(row), rate === null ? '–' : `${formRate(rate)}/s`];
}

function drawTop() {
    const heads = ['Key', 'Limit', 'Refused', 'Now'];
    const scrolled = { class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': 'refused' };
    return element('div', scrolled, element('table', { id: 'top' },
        element('caption', { class: 'unseen' }, 'The most refused keys'),
        element('thead', {}, element('tr', {}, heads.map((head) => element('th', { scope: 'col' }, head)))),
        element('tbody', {})));
}

// Rows stay where nothing changed, so that a text that is marked stays so.
function updateTop({ top }) {
    const body = byId('top').tBodies[0];
    top.forEach((row, i) => {
        const [key, limit, refused, now] = topRow(row);
        const cells = [element('th', { scope: 'row' }, key), element('td', {}, limit), element('td', {}, refused),
            element('td', {}, now)];
        const made = element('tr', {}, cells);
        if (i >= body.rows.length) body.append(made);
        else if (body.rows[i].cells[0].textContent !== key.textContent) body.rows[i].replaceWith(made);
        else cells.forEach((cell, at) => say(body.rows[i].cells[at].lastChild, cell.textContent));
    });
    while (body.rows.length > top.length) body.lastChild.remove();
    byId('top').hidden = top.length === 0;
    byId('top-none').hidden = top.length > 0;
}

// ---- each limit ----

const cards = new Map();
let cardOrder = 'refused';

function drawCard(limit) {
    const { readout, update: updateReadout } = callReadout(limit.place);
    const id = `limit-${limit.place}`;
    const place = plotPlace('');
    const text = element('p', { class: 'canonical' });
    const total = element('p', { class: 'about' });
    const card = element('article', { class: 'card', 'aria-labelledby': id },
        element('h3', { class: 'limit', id }, element('bdi', {}, limitName(limit.name)),
            limit.shadow ? element('span', { class: 'badge' }, 'shadow') : null),
        text, readout, place, total);
    return { card, place, text, total, updateReadout, plot: null };
}

function cardText(limit) {
    if (limit.place === 64) return `${formCount(limit.others)} more limits, the less busy ones, together`;
    if (limit.text !== null) return formText(limit.text);
    return limit.name === '' ? 'each request says what its limit is' : 'no longer defined';
}

function updateCard(limit) {
    const one = cards.get(limit.place);
    say(one.text, cardText(limit));
    say(one.total, limit.place === 64 ? '' : `${formCount(limit.denied)} refused of ` +
        `${formCount(limit.allowed + limit.denied)} since the start` +
        `${limit.never > 0 ? `; ${formCount(limit.never)} asked for more than can ever pass` : ''}` +
        `${limit.late_ns > 0 ? `; the last one started ${formDuration(limit.late_ns)} late` : ''}`);
    one.updateReadout();
    one.place.setAttribute('aria-label', callSummary(limitName(limit.name), limit.place));
}

const othersLimit = (report) => ({ place: 64, name: 'others', text: null, shadow: false, others: report.names - 64 });

function limitsShown(report) {
    const others = feed.samples.some((sample) => sample.calls.has(64));
    const shown = report.limits.filter((limit) => limit.text !== null || isAsked(limit));
    return others ? [...shown, othersLimit(report)] : shown;
}

// Who is not defined any more is shown as long as something of it is to be seen.
function isAsked(limit) {
    return feed.samples.some((sample) => sample.calls.has(limit.place));
}

const orders = {
    refused: (one, other) => other.calls[1] - one.calls[1] || other.calls[0] - one.calls[0],
    busy: (one, other) => other.calls[0] - one.calls[0],
    name: (one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }),
};

function sortCards(limits) {
    const known = limits.map((limit) => ({ ...limit, calls: callsInView(limit.place) }));
    known.sort((one, other) => orders[cardOrder](one, other) || one.place - other.place);
    byId('cards').append(...known.map(({ place }) => cards.get(place).card));
}

function cardKey(limit) {
    return JSON.stringify([limit.place, limit.name, limit.shadow]);
}

// Nothing jumps under the reader's hand, and nothing often.
function sortNow(report, limits) {
    if (report.sample % sortedEvery === 0 && !byId('cards').matches(':hover, :focus-within')) sortCards(limits);
}

function updateCards(report) {
    const limits = limitsShown(report);
    const key = limits.map(cardKey).join();
    const grid = byId('cards');
    if (grid.dataset.key !== key) {
        grid.dataset.key = key;
        for (const { plot } of cards.values()) plot.leave();
        cards.clear();
        grid.replaceChildren();
        for (const limit of limits) cards.set(limit.place, drawCard(limit));
        sortCards(limits);
        for (const [place, one] of cards) {
            one.plot = livePlot(one.place, 132, callSeries(), countAxis, () => callColumns(place));
        }
    }
    limits.forEach(updateCard);
    sortNow(report, limits);
    byId('rest').hidden = limits.length <= fewCards;
    say(byId('rest'), grid.classList.contains('few') ? `Show all ${limits.length} limits` : 'Show few limits');
}

function drawRest() {
    const button = element('button', { type: 'button', id: 'rest', hidden: '' });
    button.addEventListener('click', () => {
        byId('cards').classList.toggle('few');
        update();
    });
    return button;
}

function drawOrder() {
    const options = [['refused', 'most refused first'], ['busy', 'busiest first'], ['name', 'by name']];
    const choice = element('select', { id: 'order' },
        options.map(([value, words]) => element('option', { value }, words)));
    choice.addEventListener('change', () => {
        cardOrder = choice.value;
        sortCards(limitsShown(feed.report));
    });
    return element('label', { class: 'order' }, 'Order ', choice);
}

// ---- latency, fill, events ----

const latencyNames = [['p50', 'p50'], ['p99', 'p99'], ['max', 'max']];

function latencyReadout() {
    const values = {};
    const rows = latencyNames.map(([name, words]) => {
        values[name] = element('b', {}, '');
        return element('span', { class: `value ${name}` }, element('i', { 'aria-hidden': 'true' }), `${words} `,
            values[name]);
    });
    const update = () => {
        const shown = feed.samples[view.index === null ? feed.samples.length - 1 : view.index];
        for (const [name] of latencyNames) say(values[name], shown && shown[name] ? formDuration(shown[name]) : '–');
    };
    return { readout: element('p', { class: 'readout' }, rows), update };
}

function formBytes(n) {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
    const power = n < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(n) / 10));
    return `${Number((n / 1024 ** power).toPrecision(3))} ${units[power]}`;
}

function drawFill() {
    const meaning = { role: 'meter', 'aria-label': 'Keys in use', 'aria-valuemin': '0' };
    return element('div', {},
        element('div', { class: 'gauge', id: 'gauge', ...meaning }, element('span', {})),
        element('p', { id: 'fill-words' }), element('p', { class: 'about', id: 'fill-more' }));
}

function fillMore(table) {
    const lost = table.displaced + table.full;
    const words = [`At most ${formBytes(table.bytes)} of memory, allocated as keys come`];
    if (table.displaced > 0) words.push(`${formCounted(table.displaced, 'key')} lost their slot to another`);
    if (table.full > 0) words.push(`${formCounted(table.full, 'new key')} found no slot`);
    return `${words.join('; ')}${lost === 0 ? '; no new key has found it full' : ''}.`;
}

function updateFill({ table }) {
    const gauge = byId('gauge');
    gauge.setAttribute('aria-valuemax', table.keys_max);
    gauge.setAttribute('aria-valuenow', table.keys);
    gauge.setAttribute('aria-valuetext', formShare(table.keys, table.keys_max));
    gauge.classList.toggle('high', fillShare(table) >= nearlyFull);
    gauge.firstChild.style.width = `${Math.min(100, 100 * fillShare(table))}%`;
    say(byId('fill-words'), `${formCount(table.keys)} of ${formCount(table.keys_max)} keys in use`);
    say(byId('fill-more'), fillMore(table));
}

function drawEvent(event) {
    const datetime = new Date(event.unix_ms).toISOString();
    return element('li', {}, element('time', { datetime }, clockOf(event.unix_ms)),
        element('bdi', {}, formText(event.text)));
}

// The same mistake once more keeps its number and has another time.
function updateList(kind, rows) {
    const list = byId(`${kind}-list`);
    const newest = rows.length > 0 ? `${rows[0].number} ${rows[0].unix_ms}` : '';
    byId(`${kind}-none`).hidden = rows.length > 0;
    if (list.dataset.newest === newest) return;
    list.dataset.newest = newest;
    list.replaceChildren(...rows.map(drawEvent));
}

function updateEvents({ events, mistakes }) {
    updateList('event', events);
    updateList('mistake', mistakes);
}

// ---- nothing was asked yet ----

function firstRequest() {
    return `curl ${location.origin}/v1/take -d limit=10/min -d key=me`;
}

async function copyFirst(button) {
    const code = byId('first-code');
    getSelection().selectAllChildren(code);
    try {
        await navigator.clipboard.writeText(code.textContent);
        say(button, 'Copied');
    } catch {
        say(button, 'Marked: copy it'); // where the browser allows no more
    }
}

function drawFirst() {
    const button = element('button', { type: 'button', id: 'copy' }, 'Copy');
    button.addEventListener('click', () => copyFirst(button));
    return element('section', { id: 'first', 'aria-labelledby': 'first-title' },
        element('h2', { id: 'first-title' }, 'Nothing was asked yet'),
        element('p', {}, 'Ask for a first permit, under a limit of ten a minute:'),
        element('div', { class: 'command' }, element('code', { id: 'first-code' }, firstRequest()), button),
        element('p', { class: 'more' }, 'Ask again and again, and see who is refused: it is shown within a second.'));
}

// ---- all ----

let updateAll = () => {};
let updateLatency = () => {};

function drawOverall() {
    const { readout, update: updateReadout } = callReadout('all');
    updateAll = updateReadout;
    return section('overall', 'All limits', element('div', { class: 'bar' }, readout, drawRanges()),
        plotPlace(''), element('p', { class: 'when', id: 'when' }));
}

function drawLatency() {
    const { readout, update: updateReadout } = latencyReadout();
    updateLatency = updateReadout;
    return section('latency', 'Latency', readout, plotPlace('Latency of decisions over time, on a logarithmic scale'));
}

function drawSections() {
    const none = element('p', { class: 'none', id: 'top-none' }, 'Nobody was refused.');
    return [element('div', { id: 'notes', role: 'status' }), drawFirst(),
        drawTiles(),
        element('div', { class: 'two wide' }, drawOverall(),
            section('refused', 'Who is refused', element('p', { class: 'more' }, 'Since the service started.'),
                none, drawTop())),
        element('div', { class: 'two' }, drawLatency(),
            section('table', 'Table', drawFill(), plotPlace('Keys in use over time'))),
        section('limits', 'Limits', drawOrder(), element('div', { id: 'cards', class: 'few' }), drawRest()),
        section('mistakes', 'Invalid requests',
            element('p', { class: 'none', id: 'mistake-none' }, 'None.'),
            element('ol', { id: 'mistake-list', class: 'told' })),
        section('events', 'Events', element('p', { class: 'none', id: 'event-none' }, 'None.'),
            element('ol', { id: 'event-list', class: 'told' }))];
}

function drawPage() {
    byId('main').append(...drawSections());
    byId('ranges').addEventListener('change', rangeChosen);
    const place = (id) => document.querySelector(`#section-${id} .plot`);
    livePlot(place('overall'), 220, callSeries(), countAxis, () => callColumns('all'));
    livePlot(place('latency'), 180, lineSeries(['--muted', '--refused', '--allowed']), latencyAxis, latencyColumns);
    livePlot(place('table'), 120, [area('--at-once')], countAxis, keyColumns);
}

// What the cursor changes.
function updateReadouts() {
    const pointed = view.index === null ? undefined : feed.samples[view.index];
    updateAll();
    updateLatency();
    for (const { updateReadout } of cards.values()) updateReadout();
    say(byId('when'), pointed ? `in the second before ${clockOf(pointed.unixMs)}` :
        `a second, over the last ${rateSeconds} s`);
}

// Of the engine that keeps the limits, where there is one.
function engineWords(engine) {
    if (engine === undefined) return '';
    const state = engine.away ? 'away' : `answers in ${formDuration(engine.round_trip_ns)}`;
    return `; engine ${formText(engine.name)} ${state}`;
}

// RESP at 127.0.0.1:9347 and [::1]:9347, HTTP at ...
function addressWords(addresses) {
    const places = new Map();
    for (const { protocol, address } of addresses) {
        places.set(protocol, [...(places.get(protocol) ?? []), formText(address)]);
    }
    return [...places].map(([protocol, texts]) => `${protocol} at ${texts.join(' and ')}`).join(', ');
}

function updateHead({ version, uptime_s: uptime, workers, engine, addresses }) {
    say(byId('about'), `serve ${formText(version)}, up ${formDuration(Math.max(1, uptime) * 1e9)}, ` +
        formCounted(workers, 'thread') + engineWords(engine));
    say(byId('addresses'), `It listens for ${addressWords(addresses)}.`);
}

function update() {
    const { report } = feed;
    if (report === null) return;
    const asked = report.all.allowed + report.all.denied > 0;
    byId('first').hidden = asked;
    document.body.classList.toggle('empty', !asked);
    updateHead(report);
    updateNotes(report);
    updateTiles(report);
    updateTop(report);
    updateCards(report);
    updateFill(report);
    updateEvents(report);
    document.querySelector('#section-overall .plot').setAttribute('aria-label', callSummary('All limits', 'all'));
    refreshPlots();
    updateReadouts();
}

function stateWords() {
    const words = { live: 'live', paused: 'paused', starting: 'asking the service' };
    if (feed.state !== 'away') return words[feed.state];
    return `away: ${feed.why}; asked again in ${formDuration(feed.waitMs * 1e6)}`;
}

function updateState() {
    byId('state').dataset.state = feed.state;
    say(byId('words'), stateWords());
    byId('again').hidden = feed.state !== 'away';
    document.body.classList.toggle('away', feed.state === 'away');
}

drawPage();
byId('foot').append(element('p', { id: 'addresses' }));
byId('foot').append(element('p', {}, 'Times are of this computer’s zone. The same numbers: ',
    element('a', { href: 'metrics' }, 'for Prometheus'), ', ', element('a', { href: 'v1/stats' }, 'as JSON'), '; ',
    element('a', { href: 'v1/top' }, 'the most refused keys'), '. Plots by uPlot.'));
byId('again').addEventListener('click', feedTurn);
feed.changed = update;
feed.moved = updateState;
view.pointed = updateReadouts;
feedStart();
