// SPDX-License-Identifier: MIT
// The page, from its data: what the limits came to, when, and who was hit.
//
// Texts of limits and keys come from outside: they only ever become text nodes and attributes, never HTML.

const data = JSON.parse(document.getElementById('data').textContent);
const nameMax = 80;
const openTablesMax = 4; // with more limits than that the tables open on request

function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children.flat().filter((child) => child !== null));
    return made;
}

function section(id, title, ...children) {
    return element('section', { 'aria-labelledby': id }, element('h2', { id }, title), ...children);
}

// The card has all of a text, however long; elsewhere its beginning will do.
function shortName(limit) {
    const text = formText(limit.text);
    return text.length > nameMax ? `${text.slice(0, nameMax - 1)}…` : text;
}

function keyName(key) {
    if (key === null) return '(none)';
    return key === '' ? '(empty)' : formText(key);
}

function keyText(key) {
    return element('bdi', { class: 'key' }, keyName(key));
}

// ---- head ----

function grainText() {
    return data.resolution_ns === 1e9 ? 'the second' : formDuration(data.resolution_ns);
}

function notes() {
    const found = [];
    if (data.timestamps_are_ends) {
        found.push(`The timestamps are the ends of requests, to ${grainText()}, but limits act when requests arrive: ` +
            'true refusals may be higher.');
    }
    if (data.whole_seconds) {
        found.push('The timestamps do not tell when within the second a request came, so refusals are estimates: ' +
            'with all requests of a second at once, and with them spread over it.');
    }
    if (data.late > 0) {
        found.push(`${formCounted(data.late, 'request')} stood so far out of order in the log ` +
            'that they are taken for later than they were.');
    }
    if (data.malformed > 0) {
        const verb = data.malformed === 1 ? 'is' : 'are';
        found.push(`${formCounted(data.malformed, 'line')} could not be read and ${verb} not counted.`);
    }
    return found;
}

function spanText() {
    const fine = data.last_s - data.first_s < 60;
    const first = formTime(data.first_s, fine);
    const last = formTime(data.last_s, fine);
    if (first === last) return `${first} UTC`;
    const end = first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last;
    return `${first} – ${end} UTC (${formDuration(Math.round((data.last_s - data.first_s) * 1e9))})`;
}

function drawHead() {
    const clients = data.key === null ? '' : ` of ${formCounted(data.clients, 'client')}`;
    const by = data.key === null ? 'all requests together' : `requests are grouped by ${formText(data.key)}`;
    const span = data.requests === 0 ? 'nothing was requested' : spanText();
    document.title = `weir replay: ${span}`;
    document.getElementById('head').append(
        element('p', { class: 'eyebrow' }, 'weir replay'),
        element('h1', {}, `${formCounted(data.requests, 'request')}${clients}`),
        element('p', { id: 'span' }, `${span}; ${by}`),
        ...notes().map((note) => element('p', { class: 'note' }, note)));
    document.getElementById('foot').append(element('p', {},
        `Written by weir ${data.version}. All times are UTC. Plots by uPlot.`));
}

// ---- cards ----

// Where the timestamps leave it open, from the least to the most.
function openText(one, other, form) {
    return formRange(form(Math.min(one, other)), form(Math.max(one, other)));
}

function refusedText(limit, form) {
    return openText(limit.denied, limit.denied_spread, form);
}

function allowedFact(limit) {
    const other = data.requests - limit.denied_spread;
    return fact('Allowed', openText(limit.allowed, other, formCount),
        `(${openText(limit.allowed, other, (n) => formShare(n, data.requests))})`);
}

// A card says how it went before it is read: refused, delayed and allowed as parts of a bar.
function proportion(limit) {
    const parts = [['refused', limit.denied], ['delayed', limit.delayed], ['allowed', limit.allowed - limit.delayed]];
    return element('div', { class: 'proportion', 'aria-hidden': 'true' }, parts.map(([name, n]) => {
        const part = element('span', { class: name });
        part.style.flexGrow = n;
        if (n === 0) part.style.display = 'none';
        return part;
    }));
}

function fact(term, value, more) {
    return element('div', {}, element('dt', {}, term),
        element('dd', {}, value, more ? element('span', { class: 'more' }, ` ${more}`) : null));
}

function delayFacts(limit) {
    if (limit.delayed === 0) return [fact('Delayed', '0')];
    return [fact('Delayed', formCount(limit.delayed), `(${formShare(limit.delayed, data.requests)})`),
        fact('Delay', formDuration(limit.delay_max_ns),
            `at most; p99 ${formDuration(limit.delay_p99_ns)}`)];
}

function clientFacts(limit) {
    if (data.key === null) return [];
    const facts = [fact('Clients refused', formCount(limit.clients_denied),
        `of ${formCount(data.clients)} (${formShare(limit.clients_denied, data.clients)})`)];
    if (limit.clients_delayed > 0) {
        facts.push(fact('Clients delayed', formCount(limit.clients_delayed),
            `of ${formCount(data.clients)} (${formShare(limit.clients_delayed, data.clients)})`));
    }
    return facts;
}

// Of what it allowed; data has no such count where no limit is of what runs at once.
function runningFacts(limit) {
    if (data.running_all === undefined || limit.delayed > 0) return [];
    const facts = [data.key === null ? fact('Most at once', formCount(limit.running_all)) :
        fact('Most at once', formCount(limit.running_client), `of a client; ${formCount(limit.running_all)} of all`)];
    if (limit.outlasted > 0) facts.push(fact('Longer than the lease', formCounted(limit.outlasted, 'request')));
    return facts;
}

function unaffectedFact(limit) {
    const texts = [limit.unaffected_slots_text, limit.unaffected_text].filter((text) => text);
    if (texts.length === 0) return [];
    const whom = data.key === null ? 'To refuse nothing' : `To leave ${data.unaffected} % of clients unaffected`;
    return [fact(whom, texts.map(formText).join('; '))];
}

function drawCard(limit, number) {
    const id = `limit-${number}`;
    const canonical = limit.canonical === limit.text ? [] :
        [element('p', { class: 'canonical' }, formText(limit.canonical))];
    return element('article', { class: 'card', 'aria-labelledby': id },
        element('h3', { class: 'limit', id }, formText(limit.text)), ...canonical,
        element('p', { class: 'refusals' }, element('strong', {}, refusedText(limit, formCount)), ' refused',
            element('span', { class: 'share' }, refusedText(limit, (n) => formShare(n, data.requests)))),
        proportion(limit),
        element('dl', {}, allowedFact(limit), ...delayFacts(limit), ...clientFacts(limit), ...runningFacts(limit),
            ...unaffectedFact(limit)),
        limit.note === '' ? null : element('p', { class: 'about' }, formText(limit.note)));
}

// ---- plots ----

function readout(limit, delays) {
    const rows = { offered: null, allowed: null, ...(delays ? { delayed: null } : {}), refused: null };
    const place = element('p', { class: 'readout' }, Object.keys(rows).map((name) => {
        rows[name] = element('b', {}, '');
        const swatch = element('i', { 'aria-hidden': 'true' });
        return element('span', { class: `value ${name}` }, swatch, `${name} `, rows[name]);
    }));
    const set = ({ from, to }) => {
        const offered = sumOf(data.series.offered, from, to);
        const refused = sumOf(limit.denied_steps, from, to);
        const values = { offered, refused, allowed: offered - refused, delayed: sumOf(limit.delayed_steps, from, to) };
        for (const name of Object.keys(rows)) rows[name].textContent = formCount(values[name]);
        return `${formCount(offered)} offered, ${formCount(refused)} refused, ${formCount(values.delayed)} delayed`;
    };
    return { place, set };
}

function timeShown({ from, to }) {
    const stepS = data.series.step_ns / 1e9;
    const fine = data.series.step_ns < 1e9;
    const start = formTime(data.series.first_s + from * stepS, fine);
    const end = formTime(data.series.first_s + (to + 1) * stepS, fine);
    return `${start} – ${start.slice(0, 10) === end.slice(0, 10) ? end.slice(11) : end} UTC`;
}

function drawFigure(limit, delays, time, said) {
    const values = readout(limit, delays);
    const summary = `Plot of ${shortName(limit)} over time: ${formCount(limit.denied)} of ` +
        `${formCounted(data.requests, 'request')} refused. ` +
        'Arrow keys move through time, plus and minus zoom, 0 shows all.';
    const place = element('div', { class: 'plot', role: 'img', tabindex: '0', 'aria-label': summary });
    const figure = element('figure', {}, element('figcaption', {},
        element('h3', { class: 'limit', title: limit.canonical }, shortName(limit)), values.place), place);
    let last = '';
    const draw = () => {
        const u = drawPlot(place, data.series, limit, (steps) => {
            last = `${timeShown(steps)}: ${values.set(steps)}`;
            time.textContent = timeShown(steps);
        });
        place.addEventListener('keydown', (event) => {
            if (event.ctrlKey || event.altKey || event.metaKey || !plotKey(u, data.series, event.key)) return;
            event.preventDefault();
            said.textContent = last;
        });
    };
    return { figure, draw };
}

function drawPlots() {
    const delays = data.limits.some((limit) => limit.delayed > 0);
    const time = element('span', { id: 'time' });
    const said = element('p', { class: 'unseen', role: 'status' });
    const all = element('button', { type: 'button', id: 'all' }, 'Show all');
    all.addEventListener('click', () => zoomOut(data.series));
    const figures = data.limits.map((limit) => drawFigure(limit, delays, time, said));
    const made = section('over-time', 'Over time',
        element('p', { class: 'hint' }, `Requests per ${formDuration(data.series.step_ns)}. Drag to zoom, ` +
            'double-click to show all; ' +
            `in a plot, arrow keys move and + and − zoom.${delays ? ' What is delayed is allowed, later.' : ''}`),
        element('div', { class: 'bar' }, time, all), said, ...figures.map(({ figure }) => figure));
    document.getElementById('main').append(made); // a plot needs to know how wide it is
    for (const { draw } of figures) draw();
}

// ---- who is hit ----

function columnsOf(limit) {
    const columns = [
        { title: 'Client', value: (row) => keyName(row.key), key: true },
        { title: 'Requests', value: (row) => row.requests, cell: (row) => formCount(row.requests) },
        { title: 'Refused', value: (row) => row.denied, cell: (row) => formCount(row.denied) },
        { title: 'Share refused', value: (row) => row.denied / Math.max(1, row.requests), cell: shareCell },
    ];
    if (limit.delayed > 0) {
        columns.push({ title: 'Delayed', value: (row) => row.delayed, cell: (row) => formCount(row.delayed) });
    }
    return columns;
}

function shareCell(row) {
    const fill = element('span', {});
    fill.style.width = `${100 * row.denied / Math.max(1, row.requests)}%`;
    return [formShare(row.denied, row.requests), element('span', { class: 'meter', 'aria-hidden': 'true' }, fill)];
}

function drawRow(row, columns) {
    return element('tr', {}, columns.map((column) => (column.key ?
        element('th', { scope: 'row' }, keyText(row.key)) :
        element('td', {}, column.cell(row)))));
}

// Numbers fall first, names rise first; the same heading again turns the order.
function sortRows(rows, column, rises) {
    const order = column.key ? (a, b) => column.value(a).localeCompare(column.value(b), 'en', { numeric: true }) :
        (a, b) => column.value(a) - column.value(b);
    return [...rows].sort((a, b) => (rises ? order(a, b) : order(b, a)));
}

function drawTable(limit) {
    const columns = columnsOf(limit);
    const body = element('tbody', {});
    const heads = columns.map((column) => element('th', { scope: 'col' },
        element('button', { type: 'button' }, column.title)));
    const show = (index, rises) => {
        heads.forEach((head, i) => {
            if (i === index) head.setAttribute('aria-sort', rises ? 'ascending' : 'descending');
            else head.removeAttribute('aria-sort');
        });
        body.replaceChildren(...sortRows(limit.top, columns[index], rises).map((row) => drawRow(row, columns)));
    };
    heads.forEach((head, i) => head.firstChild.addEventListener('click', () => {
        const sorted = head.getAttribute('aria-sort');
        show(i, sorted === null ? columns[i].key === true : sorted === 'descending');
    }));
    show(2, false);
    const caption = element('caption', { class: 'unseen' }, `The most refused clients of ${shortName(limit)}`);
    return element('div', { class: 'scroll' }, element('table', {}, caption,
        element('thead', {}, element('tr', {}, heads)), body));
}

function drawHit(limit) {
    const hit = limit.clients_denied;
    const rows = limit.top.length;
    const shown = rows < hit ? `the ${rows} most refused of ${formCount(hit)}` : formCounted(hit, 'client');
    const words = limit.denied === 0 ? 'refuses nobody' : shown;
    const content = rows === 0 ? element('p', { class: 'none' }, 'No request is refused.') : drawTable(limit);
    const summary = element('summary', {}, element('span', { class: 'limit' }, shortName(limit)),
        element('span', { class: 'more' }, ` ${words}`));
    const made = element('details', { class: 'hit' }, summary, content);
    made.open = data.limits.length <= openTablesMax;
    return made;
}

// ---- busiest ----

function drawBusiest() {
    const together = data.key === null;
    const running = data.busiest.running;
    const heads = ['Most requests in any',
        ...(together ? ['Requests'] : ['Median client', 'p99', 'Busiest client', 'Who'])];
    const counts = (busiest) => (together ? [busiest.max] : [busiest.p50, busiest.p99, busiest.max]);
    const row = (name, busiest) => element('tr', {}, element('th', { scope: 'row' }, name),
        counts(busiest).map((n) => element('td', {}, formCount(n))),
        together ? null : element('td', { class: 'who' }, keyText(busiest.key)));
    return element('div', { class: 'scroll' }, element('table', { class: 'busiest' },
        element('caption', { class: 'unseen' }, `The busiest second and minute${together ? '' : ' of a client'}`),
        element('thead', {}, element('tr', {}, heads.map((head) => element('th', { scope: 'col' }, head)))),
        element('tbody', {}, row('second', data.busiest.second), row('minute', data.busiest.minute),
            running ? row('moment, at once', running) : [])));
}

// ---- all ----

function drawPage() {
    const main = document.getElementById('main');
    drawHead();
    if (data.requests === 0) {
        main.append(element('p', { class: 'none' }, 'There is no request to show.'));
        return;
    }
    main.append(section('limits', data.limits.length === 1 ? 'The limit' : 'The limits',
        element('div', { class: 'cards' }, data.limits.map(drawCard))));
    if (data.series.offered.length > 0) drawPlots();
    if (data.key !== null) {
        main.append(section('who', 'Who is hit', element('div', { class: 'hits' }, data.limits.map(drawHit))));
    }
    main.append(section('busiest', 'The busiest second and minute', drawBusiest()));
}

drawPage();
