#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live.py PROBE PAGE_LIVE FOLDER CHROMIUM [PICTURES]: the page of weir serve in a real browser, over a service that is
made up (live_server.py): what it shows is what it was told, at three widths, in light and dark; nothing from outside is
more than text; it pauses, finds out that the service is away, and comes back."""
import decimal
import json
import pathlib
import sys
import time

import live_server
from browser import Browser

PROBE, FIXTURE, FOLDER, CHROMIUM = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
PICTURES = pathlib.Path(sys.argv[5]) if len(sys.argv) > 5 else None
WIDTHS = [1400, 800, 360]
problems = []


def check(what, good, more=''):
    if not good:
        problems.append(f'{what}: {more}'[:600])


# ---- cases ----

HOSTILE = ['<script>document.title="owned"</script>', '<img src=x onerror="document.title=\'owned\'">',
           '\u202eturned \u2066round', 'nul\u0000 line\n tab\t', 'k' * 48, 'caf\u00e9 \u20ac \U0001f98a', '',
           '&lt;b&gt;', 'x' * 20 + ' ' + '\u05d0' * 20, 'bad \\xff\\xc0']
HOSTILE_SHOWN = ['\\u{202e}turned \\u{2066}round', 'nul\\u{0} line\\u{a} tab\\u{9}', '(empty)']


def hostile():
    names = [(name or 'n')[:64] for name in HOSTILE]
    case = live_server.Case([live_server.limit(i, name, '5/s ' + name) for i, name in enumerate(names)], 80)
    case.top = [{'limit': name, 'key': key, 'denied': 2 ** 53 - i, 'over': i % 2, 'cut': i % 3 == 0}
                for i, (name, key) in enumerate(zip(names, HOSTILE))]
    case.events = [{'number': i, 'unix_ms': 1700000000000 + i, 'text': text} for i, text in enumerate(HOSTILE)][::-1]
    case.mistakes = [{**row, 'text': 'HTTP 400: ' + row['text']} for row in case.events]
    case.table.update(keys=985000, displaced=12, full=1)
    case.draining = True
    return case


def many():
    limits = [live_server.limit(i, f'limit-{i:02}', '10/s burst=10 algorithm=gcra') for i in range(65)]
    case = live_server.Case(limits, 30)
    case.more_names = 9
    return case


def empty():
    return live_server.Case([live_server.limit(0, 'api', '60/min burst=60 algorithm=gcra')], 5, lambda *_: [0, 0, 0])


CASES = {'usual': live_server.usual, 'hostile': hostile, 'many': many, 'empty': empty}


# ---- looking ----

def ready(browser, server, address):
    browser.open(address)
    count = len(server.case.samples)
    browser.wait(f'feed.samples.length === {count} && feed.state === "live"', 'all samples are there')
    # Plots are drawn when they come into view: one turn of the observers later.
    browser.run('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')


LOOK = '''(() => {
    const root = document.documentElement;
    const contrasts = (pairs) => pairs.map(([one, other]) => probeContrast(one, other));
    return {
        overlaps: probeOverlaps(), reader: probeReader(), wide: root.scrollWidth, title: document.title,
        scripts: document.scripts.length, foreign: document.querySelectorAll('img, svg, iframe, object').length,
        paper: getComputedStyle(root).backgroundColor,
        contrast: contrasts([['--ink', '--paper'], ['--muted', '--card'], ['--bad', '--paper']]),
        areas: contrasts([['--refused', '--allowed'], ['--shadowed', '--allowed']]),
    };
})()'''


def check_look(name, browser, width, dark):
    browser.run(PROBE.read_text(encoding='utf-8'))
    found = browser.run(LOOK)
    check(f'{name}: fits', found['wide'] <= width, found['wide'])
    check(f'{name}: says something', found['overlaps']['boxes'] > 15, found['overlaps']['boxes'])
    check(f'{name}: nothing overlaps', not found['overlaps']['pairs'], found['overlaps']['pairs'])
    check(f'{name}: nothing is outside', found['overlaps']['outside'] == 0, found['overlaps'])
    check(f'{name}: is heard as it is seen', not any(found['reader'].values()), found['reader'])
    check(f'{name}: nothing foreign', (found['foreign'], found['scripts'], found['title']) == (0, 2, 'weir serve'),
          found)
    check(f'{name}: contrast', min(found['contrast']) >= 4.5, found['contrast'])
    check(f'{name}: areas can be told apart', min(found['areas']) >= 1.25, found['areas'])
    check(f'{name}: light is light', found['paper'] == ('rgb(20, 23, 27)' if dark else 'rgb(255, 255, 255)'),
          found['paper'])


def look_at_all(browser, server, address):
    for name, make in CASES.items():
        server.case = make()
        for width in WIDTHS:
            for dark in (False, True):
                where = f'{name}-{width}-{"dark" if dark else "light"}'
                browser.look(width, dark)
                ready(browser, server, address)
                check_look(where, browser, width, dark)
                if PICTURES:
                    PICTURES.mkdir(parents=True, exist_ok=True)
                    browser.picture(PICTURES / f'live-{where}.png')


# ---- figures ----

def rate(number):
    if number == 0 or number >= 100:
        return f'{int(number + 0.5):,}'
    digits = decimal.Context(prec=2, rounding=decimal.ROUND_HALF_UP)  # as JavaScript rounds
    return f'{float(digits.create_decimal_from_float(number)):g}'


def text(browser, selector):
    return browser.run(f'document.querySelector({json.dumps(selector)}).textContent')


def check_figures(browser, server, address):
    case = server.case = live_server.usual()
    browser.look(1400, False)
    ready(browser, server, address)
    last = [row[7] for row in case.samples[-10:]]
    offered, denied, shadowed = (sum(calls[i] for row in last for calls in row) / 10 for i in (1, 2, 3))
    check('refused now', text(browser, '#tile-refused') == f'{rate(denied)}/s', text(browser, '#tile-refused'))
    check('offered now', text(browser, '#tile-offered') == f'{rate(offered)}/s', text(browser, '#tile-offered'))
    wanted = (f'offered {rate(offered)}/sallowed {rate(offered - denied)}/sof that over the limit {rate(shadowed)}/s'
              f'refused {rate(denied)}/s')
    check('the readout', text(browser, '#section-overall .readout') == wanted, wanted)
    check('the fill', text(browser, '#fill-words') == f'{case.table["keys"]:,} of 1,000,000 keys in use')
    more = text(browser, '#fill-more')
    check('what memory may be taken', 'At most 24 MiB of memory, allocated as keys come' in more, more)
    for one in case.limits:
        card = text(browser, f'[aria-labelledby="limit-{one["place"]}"]')
        total = one['allowed'] + one['denied']
        check('a card', f'{one["denied"]:,} refused of {total:,} since the start' in card, card)
        drawn = browser.run(f'cards.get({one["place"]}).plot.data.map((column) => [...column].slice(0, -1))')
        mine = [next((calls for calls in row[7] if calls[0] == one['place']), [0] * 4) for row in case.samples]
        check('a plot', drawn[1] == [n[1] for n in mine] and drawn[2] == [n[1] - n[2] for n in mine] and
              drawn[3] == [n[1] - n[2] - n[3] for n in mine], one['name'])
        check('a plot without times', drawn[0] == [row[1] / 1000 - 1 for row in case.samples], drawn[0][:3])
    rows = browser.run('[...document.querySelectorAll("#top tbody tr")].map((row) => [...row.cells].map('
                       '(cell) => cell.textContent))')
    check('who is refused', [row[:2] for row in rows] == [[row['key'], row['limit'] or 'limits given as text']
                                                          for row in case.top], rows)
    check('how often', rows[0][2] == f'{case.top[0]["denied"]:,}' and
          rows[6][2] == f'{case.top[6]["denied"] - 3:,} – {case.top[6]["denied"]:,}', rows)
    check('events', [row['text'] in text(browser, '#event-list') for row in case.events] == [True] * 3)
    check('mistakes', [row['text'] in text(browser, '#mistake-list') for row in case.mistakes] == [True] * 3)
    latency = browser.run('plots[1].data.map((column) => column.slice(0, -1))')
    check('latency', latency[1:] == [[row[i] or None for row in case.samples] for i in (4, 3, 2)])


def check_hostile(browser, server, address):
    server.case = hostile()
    ready(browser, server, address)
    shown = browser.run('document.body.innerText')
    keys = browser.run('[...document.querySelectorAll("#top .key")].map((key) => key.textContent)')
    for key in HOSTILE[:2] + HOSTILE_SHOWN + ['&lt;b&gt;', 'bad \\xff\\xc0']:
        check('a key as text', any(one.rstrip('…') == key for one in keys), (key, keys))
        check('an event as text', key == '(empty)' or key in shown, key)
    check('the table is nearly full', '98.50 % full' in text(browser, '#notes'), text(browser, '#notes'))
    check('it is stopping', 'is stopping' in text(browser, '#notes'))
    lost = '12 keys lost their slot to another; 1 new key found no slot'
    check('keys were lost', lost in text(browser, '#fill-more'), text(browser, '#fill-more'))
    before = len(browser.console)
    browser.run('document.body.append(Object.assign(document.createElement("script"), '
                '{ textContent: "document.title = \'owned\'" }))')
    browser.wait('true', 'a moment')
    check('a foreign script is refused', browser.run('document.title') == 'weir serve' and
          any('Content Security Policy' in line for line in browser.console[before:]), browser.console[before:])
    del browser.console[before:]


def check_many(browser, server, address):
    server.case = many()
    ready(browser, server, address)
    shown = '[...document.querySelectorAll(".card")].filter((card) => card.checkVisibility()).length'
    check('a few limits', browser.run(shown) == 12, browser.run(shown))
    check('the rest is offered', text(browser, '#rest') == 'Show all 65 limits', text(browser, '#rest'))
    browser.run('byId("rest").click()')
    check('all limits', browser.run(shown) == 65, browser.run(shown))
    others = browser.run('cards.get(64).card.innerText')
    check('the others', 'others' in others and '10 more limits' in others, others)
    drawn = browser.run('[...cards.get(64).plot.data[1]].slice(0, -1)')
    check('the others are drawn', drawn == [row[7][64][1] for row in server.case.samples], drawn[:5])


def check_hands(browser, server, address):
    """The keyboard, the range, the order."""
    case = server.case = live_server.usual()
    ready(browser, server, address)
    browser.run('document.querySelector("#section-overall .plot").focus()')
    for _ in range(3):
        browser.press('ArrowLeft', 37)
    row = case.samples[-3]
    offered = sum(calls[1] for calls in row[7])
    check('the cursor moves', f'offered {rate(offered)}/s' in text(browser, '#section-overall .readout'),
          (text(browser, '#section-overall .readout'), offered))
    check('its time is told', text(browser, '#when') ==
          browser.run(f'"in the second before " + clockOf({row[1]})'), text(browser, '#when'))
    check('each limit is told', f'offered {rate(row[7][0][1])}/s' in text(browser, '[aria-labelledby="limit-0"]'))
    browser.press('Escape', 27)
    check('it leaves', text(browser, '#when').startswith('a second'), text(browser, '#when'))
    browser.run('document.querySelector("input[value=\'60\']").click()')
    widths = browser.run('plots.filter((u) => u.seen).map((u) => u.scales.x.max - u.scales.x.min)')
    check('a minute is shown', widths and all(abs(width - 60) < 1e-6 for width in widths), widths)
    browser.run('byId("order").value = "name"; byId("order").dispatchEvent(new Event("change"))')
    names = browser.run('[...document.querySelectorAll(".card h3 bdi")].map((name) => name.textContent)')
    check('the order', names == ['limits given as text', 'api', 'login', 'search', 'upload'], names)
    # Under the mouse: the seconds on the left are asked of the very plot.
    browser.run('document.querySelector("input[value=\'600\']").click()')
    place = browser.run('(() => { const { left, top, width, height } = plots[0].over.getBoundingClientRect();'
                        'return [left + width * 0.75, top + height / 2]; })()')
    browser.ask('Input.dispatchMouseEvent', type='mouseMoved', x=place[0], y=place[1])
    browser.wait('view.index !== null', 'the mouse is noticed')
    times = [row[1] / 1000 - 1 for row in case.samples]
    wanted = case.samples[-1][1] / 1000 - len(case.samples) * 0.25  # there are less than 600
    nearest = min(range(len(times)), key=lambda i: abs(times[i] - wanted))
    check('the mouse points', abs(browser.run('view.index') - nearest) <= 2, (browser.run('view.index'), nearest))


def check_first(browser, server, address):
    server.case = empty()
    ready(browser, server, address)
    check('how to begin', text(browser, '#first-code') == f'curl {address}v1/take -d limit=10/min -d key=me')
    check('it is shown', browser.run('byId("first").checkVisibility()'))
    server.case.calls = lambda *_: [3, 1, 0]
    server.case.tick()
    browser.wait('!byId("first").checkVisibility()', 'the first request is noticed')
    check('and plots come', browser.run('document.querySelector("#section-overall canvas").checkVisibility()'))


# ---- the service goes and comes ----

def check_parts(browser, server, address):
    case = server.case = live_server.usual()
    case.rows_at_once = 50
    ready(browser, server, address)
    numbers = browser.run('feed.samples.map(({ number }) => number)')
    check('all parts are asked for', numbers == [row[0] for row in case.samples], len(numbers))
    check('one after the other', case.asked[:9] == [0, 50, 100, 150, 200, 250, 300, 350, 400], case.asked)
    case.tick()
    browser.wait(f'feed.samples.length === {len(case.samples)}', 'a new second comes')
    check('only it is asked for', case.asked[-1] in (420, 421), case.asked)
    case.top[0]['denied'] += 1000
    browser.wait('document.querySelector("#top td:last-child").textContent !== "–" && '
                 'document.querySelector("#top tr td:last-child").textContent !== "0/s"', 'now it is refused')
    case.limits[0]['name'], case.layout = 'other', 1
    browser.wait('document.querySelector("#limit-0").textContent === "other"', 'another has the place')
    check('all is asked again', 0 in case.asked[9:], case.asked)
    check('none is there twice', browser.run('feed.samples.length') == len(case.samples))


def check_away(browser, server, address):
    server.case = live_server.usual()
    ready(browser, server, address)
    quiet = len(browser.console)
    server.status = 503
    browser.wait('byId("words").textContent.includes("it answers 503; asked again in")', 'trouble is told')
    server.status = 200
    browser.wait('feed.state === "live"', 'it is well again')
    server.down()
    browser.wait('byId("words").textContent.includes("away: it does not answer; asked again in 4 s")',
                 'that nobody answers is told, and less is asked')
    check('what was there stays', browser.run('feed.samples.length') > 0)
    server.case = live_server.Case([live_server.limit(0, 'new', '1/s')], 3)
    server.case.started_ms += 5
    server.up()
    browser.run('byId("again").click()')
    browser.wait('feed.state === "live" && feed.samples.length === 3', 'the service that came back is shown')
    browser.wait('document.querySelector("#limit-0").textContent === "new"', 'with its limits')
    # The browser itself says that it could not connect: that is all it says.
    said = [line for line in browser.console[quiet:] if 'Failed to load resource' not in line]
    check('nothing else is said', said == [], said)
    del browser.console[quiet:]


def check_pause(browser, server, address):
    server.case = live_server.usual()
    ready(browser, server, address)
    browser.run('Object.defineProperty(document, "hidden", { value: true, configurable: true });'
                'document.dispatchEvent(new Event("visibilitychange"))')
    browser.wait('feed.state === "paused" && !feedAsking', 'it pauses')
    asked = len(server.case.asked)
    time.sleep(2.5)  # more than two of its seconds
    check('who is not seen asks nothing', len(server.case.asked) == asked, (asked, len(server.case.asked)))
    server.case.tick()
    browser.run('delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))')
    browser.wait(f'feed.state === "live" && feed.samples.length === {len(server.case.samples)}', 'it goes on')


def main():
    server = live_server.Server(FIXTURE)
    address = server.up()
    with Browser(CHROMIUM, FOLDER) as browser:
        for part in (look_at_all, check_figures, check_hostile, check_many, check_hands, check_first, check_parts,
                     check_pause, check_away):
            try:
                part(browser, server, address)
            except TimeoutError as late:
                check(part.__name__, False, late)
        check('nothing is said on the console', browser.console == [], browser.console)
        strangers = {url for url in browser.requests if not url.startswith(address) and not url.startswith('data:')}
        check('nobody else is asked', strangers == set(), strangers)
        check('requests are seen', f'{address}v1/stats?since=0' in browser.requests)
        browser.run('console.error("planted")')
        check('the console is heard', browser.console[-1:] == ['planted'], browser.console)
    server.down()
    for problem in problems[:40]:
        print('FAILED:', problem)
    if problems:
        print(len(problems), 'problems')
    return bool(problems)


sys.exit(main())
