#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""look.py PROBE FOLDER CHROMIUM: opens FOLDER/CASE.html in a real browser, in light and in dark, at three widths, and
holds what the probe measured against the data of the page.

The pages are opened twice: untouched, where no word may come on the console and no request leave, and as copies with
the probe at their end, each in a frame of a width of its own."""
import base64
import datetime
import hashlib
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys

PROBE, FOLDER, CHROMIUM = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
CASES = ['day', 'calm', 'one', 'seconds', 'sixteen', 'hostile', 'empty']
WIDTHS = [1280, 800, 390]
DARK = '--blink-settings=preferredColorScheme=0'
problems = []


def check(what, good, more=''):
    if not good:
        problems.append(f'{what}: {more}'[:600])


class Page(html.parser.HTMLParser):
    """All elements, with what stands in those that are not parsed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.raw, self.open = [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ('script', 'style', 'pre'):
            self.open = (tag, dict(attributes), [])

    def handle_endtag(self, tag):
        if self.open and self.open[0] == tag:
            self.raw.append((tag, self.open[1], ''.join(self.open[2])))
            self.open = None

    def handle_data(self, text):
        if self.open:
            self.open[2].append(text)


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def browse(name, page, *more):
    """The page's elements after everything has run, what it said, and the addresses that were asked for."""
    log = FOLDER / 'net.json'
    log.unlink(missing_ok=True)
    done = subprocess.run(
        [CHROMIUM, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
         '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-default-apps', '--disable-extensions', f'--user-data-dir={FOLDER}/profile',
         '--host-resolver-rules=MAP * ~NOTFOUND', '--enable-logging=stderr', f'--log-net-log={log}',
         '--window-size=1280,1400', '--virtual-time-budget=20000', *more, '--dump-dom', page.as_uri()],
        capture_output=True, timeout=200, env={**os.environ, 'TZ': 'Asia/Kolkata'})  # far from the page's UTC
    said = [line for line in done.stderr.decode(errors='replace').splitlines() if ':CONSOLE' in line]
    # The browser asks for things of its own, too: those have no page as their origin.
    requests = re.findall(r'"initiator":"([^"]*)".*?"url":"([^"]*)"', log.read_text(errors='replace'))
    asked = {url for origin, url in requests if origin != 'not an origin' and not url.startswith('file:')}
    check(f'{name}: the browser runs', done.returncode == 0, done.stderr.decode(errors='replace')[-400:])
    return Page(done.stdout.decode(errors='replace')), said, asked


def frames(name, files):
    """A page with each file in a frame, whose messages end up in <pre>."""
    page = FOLDER / f'{name}.frames.html'
    page.write_text('<!DOCTYPE html><meta charset="utf-8"><body><script>'
                    'addEventListener("message", (event) => { for (const frame of document.querySelectorAll("iframe"))'
                    ' if (frame.contentWindow === event.source) { const pre = document.createElement("pre");'
                    ' pre.id = frame.id; pre.textContent = event.data; document.body.append(pre); } });</script>'
                    # All at one place: frames out of sight would not be drawn.
                    '<style>iframe { position: absolute; left: 0; top: 0; height: 1300px; border: 0 }</style>' +
                    ''.join(f'<iframe id="{file.stem}-{width}" src="{file.name}" style="width: {width}px"></iframe>'
                            for file, width in files))
    return page


# ---- without a browser ----

def check_file(case):
    text = (FOLDER / f'{case}.html').read_text(encoding='utf-8')
    page = Page(text)
    policy = next(attributes['content'] for _, attributes in page.tags if 'http-equiv' in attributes)
    for tag, attributes, inside in page.raw:
        if attributes.get('type') == 'application/json':
            json.loads(inside)
        else:
            check(f'{case}: the policy allows its {tag}', policy_hash(inside) in policy, policy)
    check(f'{case}: nothing else is allowed', policy.startswith("default-src 'none'") and 'unsafe' not in policy,
          policy)
    kinds = [tag for tag, _, _ in page.raw]
    check(f'{case}: two styles, data and two scripts', sorted(kinds) == ['script'] * 3 + ['style'] * 2, kinds)
    names = {name for _, attributes in page.tags for name in attributes}
    check(f'{case}: nothing is linked', not names & {'src', 'href', 'style', 'onerror', 'onload'}, names)
    check(f'{case}: the license is with it', 'The above copyright notice and this permission notice' in text)


def probed(case):
    """A copy with the probe, and leave for the probe."""
    text = (FOLDER / f'{case}.html').read_text(encoding='utf-8')
    script = PROBE.read_text()
    text = text.replace("script-src ", "script-src " + policy_hash(script) + ' ', 1)
    copy = FOLDER / f'{case}.probed.html'
    copy.write_text(text.replace('</body>\n</html>', f'<script>{script}</script></body></html>'), encoding='utf-8')
    return copy


# ---- what a probe found ----

def check_layout(name, found, width):
    overlaps = found['overlaps']
    check(f'{name}: as wide as it should be', found['width'] == width, found['width'])
    check(f'{name}: nothing overlaps', overlaps['pairs'] == [], overlaps['pairs'][:5])
    check(f'{name}: there was something that could', overlaps['boxes'] > 5, overlaps['boxes'])
    check(f'{name}: nothing sticks out', overlaps['outside'] == 0 and found['scrollWidth'] <= width,
          overlaps['outside'])
    check(f'{name}: contrast', min(found['contrast'].values()) >= 4.5, found['contrast'])
    check(f'{name}: for a screen reader', not any(found['reader'].values()), found['reader'])
    check(f'{name}: only elements of ours', found['foreign'] == 0 and found['scripts'] == 4, found['scripts'])
    check(f'{name}: the title', found['title'].startswith('weir replay: '), found['title'])


def check_pixels(name, found):
    """The areas are as large as the numbers, but for their edges: an area of one pixel's height can be all edge."""
    offered = sum(found['series']['offered'])
    check(f'{name}: a plot for each limit', len(found['pixels']) == (len(found['limits']) if offered else 0))
    for pixels, limit in zip(found['pixels'], found['limits']):
        denied, delayed = sum(limit['denied_steps']), sum(limit['delayed_steps'])
        parts = {'--refused': denied, '--allowed': delayed, '--at-once': offered - denied - delayed}
        drawn = sum(pixels[part] for part in parts)
        check(f'{name}: drawn', drawn > 1000 and pixels['--offered'] > 50, pixels)
        for part, count in parts.items():
            share = pixels[part] / max(1, drawn)
            check(f'{name}: {limit["text"][:20]}: {part}', abs(share - count / offered) < 0.06,
                  (share, count / offered))
            check(f'{name}: {part} where there is none', count != 0 or pixels[part] == 0, pixels)


def number(text):
    return int(text.replace(',', ''))


def check_tables(name, found):
    limits = [limit for limit in found['limits'] if limit['top']]
    check(f'{name}: a table for each limit that refuses', len(found['tables']) == len(limits))
    for table, limit in zip(found['tables'], limits):
        rows = sorted(limit['top'], key=lambda row: -row['denied'])
        shown = [(number(row[1]), number(row[2])) for row in table['first']]
        check(f'{name}: rows', shown == [(row['requests'], row['denied']) for row in rows], shown)
        requests = sorted((row['requests'] for row in rows), reverse=True)
        by = table['byRequests']
        check(f'{name}: sorted by requests', [number(row[1]) for row in by['rows']] == requests, by['rows'][:3])
        check(f'{name}: and says so', by['sorted'][:3] == [None, 'descending', None], by['sorted'])
        again = table['byRequestsAgain']
        check(f'{name}: the other way', [number(row[1]) for row in again['rows']] == requests[::-1], again['rows'][:3])
        check(f'{name}: and says so, too', again['sorted'][:2] == [None, 'ascending'], again['sorted'])
        check(f'{name}: by client', table['byClient']['sorted'][:2] == ['ascending', None], table['byClient']['sorted'])


def check_readouts(name, step, limits, series):
    """Under each limit, the sums over just the steps whose time is shown."""
    a, b = steps_in(step, series)
    for words, limit in zip(step['readouts'], limits):
        shown = [number(re.search(rf'{noun} ([\d,]+)', words)[1]) for noun in ('offered', 'refused')]
        sums = [sum(series['offered'][a:b]), sum(limit['denied_steps'][a:b])]
        check(f'{name}: {limit["text"][:20]}: what is shown is so', shown == sums, (words, sums, step['time']))


def steps_in(step, series):
    """The time that is shown as the first step and the one after the last, from the page's words alone."""
    first, last = re.match(r'(.*) – (.*) UTC$', step['time']).groups()
    if '-' not in last:
        last = first[:len('2026-11-20 ')] + last
    seconds = [datetime.datetime.fromisoformat(time + '+00:00').timestamp() for time in (first, last)]
    return [round((at - series['first_s']) * 1e9 / series['step_ns']) for at in seconds]


def check_zoom(name, found):
    zoom, series, limits = found['zoom'], found['series'], found['limits']
    width = {key: step['ranges'][0][1] - step['ranges'][0][0] for key, step in zoom.items() if key != 'said'}
    for key, step in zoom.items():
        if key == 'said':
            continue
        check(f'{name}: {key}: all plots show the same time', all(r == step['ranges'][0] for r in step['ranges']),
              step['ranges'])
        check_readouts(f'{name}: {key}', step, limits, series)
    seconds = len(series['offered']) * series['step_ns'] / 1e9
    check(f'{name}: all of it at first', abs(width['all'] - seconds) < 1e-6, width)
    if len(series['offered']) < 10:
        return
    check(f'{name}: dragging zooms', 0.45 < width['dragged'] / width['all'] < 0.55, width)
    check(f'{name}: plus zooms', 0.45 < width['plus'] / width['all'] < 0.55, width)
    check(f'{name}: back again', width['all'] == width['escaped'] == width['again'], width)
    check(f'{name}: arrows are told', zoom['said'].startswith(zoom['moved']['time']), zoom['said'])
    a, b = steps_in(zoom['hover'], series)
    # The mouse is at whole pixels, of which the narrowest plot has fewer than there are steps.
    check(f'{name}: the cursor is in the step it points at', b == a + 1 and abs(a - 0.703 * len(series['offered'])) < 2,
          (a, b))


def check_words(found):
    """found[CASE] at the first width."""
    day = found['day']['text']
    for words in ('104,701 requests of 2,002 clients', '2026-11-20 00:00:00 – 2026-11-21 04:26:37 UTC',
                  'true refusals may be higher', '12 lines could not be read', '17.15 %',
                  '5/s burst=11 algorithm=leaky', 'To leave 99.9 % of clients unaffected', 'burst=34', '448 of 2,002',
                  '203.0.113.9', '3,120', '3 requests stood so far out of order', 'up to 29 in any second',
                  'All times are UTC', '2 s at most; p99 1.84 s'):
        check('day says', words in day, words)
    check('seconds says a range', '17,583 – 20,794' in found['seconds']['text'], found['seconds']['text'][:600])
    for words in ('20 of a client; 1,234 of all', '5 requests', '41 concurrent lease=30s', 'moment, at once'):
        check('calm says what ran at once', words in found['calm']['text'], found['calm']['text'][:900])
    check('others do not', 'Most at once' not in found['seconds']['text'], found['seconds']['text'][:600])
    check('seconds has no clients', 'Who is hit' not in found['seconds']['text'])
    check('seconds says why', 'refusals are estimates' in found['seconds']['text'])
    check('day has no range', 'a range' not in day)
    check('calm says so', 'No request is refused.' in found['calm']['text'])
    check('one is one', '1 request of 1 client' in found['one']['text'])
    check('empty says so', 'There is no request to show.' in found['empty']['text'], found['empty']['text'])
    keys = [row[0] for row in found['hostile']['tables'][0]['first']]
    for key in ("</script><script>document.title='owned'</script>", '<img src=x onerror="document.title=\'owned\'">',
                '</script x', '<!-- <script ', '<script>', '&lt;b&gt; "quoted" \\ \'single\'', '(empty)', 'café € 🦊',
                'line\\u{a}break\\u{9}tab', 'nul\\u{0}inside', 'k' * 3000, '\\u{202e}turned \\u{2066}round',
                'bad \\xff\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80 cut \\xe2\\x82'):
        check('hostile shows the key as it is', key in keys, key[:80])
    check('hostile shows the limit as it is', '1/s </script><b>' in found['hostile']['text'])


# ---- all ----

def check_detectors():
    """What finds nothing may be blind: this page says something and asks for something."""
    planted = FOLDER / 'planted.html'
    planted.write_text('<body><script>console.error("planted")</script><img src="http://planted.test/x.png"></body>')
    _, said, asked = browse('planted', planted)
    check('the console is heard', any('planted' in line for line in said), said)
    check('requests are seen', 'http://planted.test/x.png' in asked, asked)
    blocked = FOLDER / 'blocked.html'
    text = (FOLDER / 'day.html').read_text(encoding='utf-8')
    blocked.write_text(text.replace('</body>', '<script>document.title = "owned"</script></body>'), encoding='utf-8')
    _, said, _ = browse('blocked', blocked)
    check('a foreign script is refused', any('Content Security Policy' in line for line in said), said)


def check_quiet():
    page = frames('untouched', [(FOLDER / f'{case}.html', 1280) for case in CASES])
    _, said, asked = browse('untouched', page)
    check('nothing is said on the console', said == [], said)
    check('nothing is asked of the network', asked == set(), asked)


def check_look(name, *more):
    page = frames(name, [(probed(case), width) for case in CASES for width in WIDTHS])
    dom, said, _ = browse(name, page, *more)
    check(f'{name}: nothing is said on the console', said == [], said)
    found = {attributes['id']: json.loads(text) for tag, attributes, text in dom.raw if tag == 'pre'}
    for case in CASES:
        for width in WIDTHS:
            one = found.get(f'{case}.probed-{width}')
            check(f'{name}: {case} at {width} answers', one is not None, list(found))
            if one is None:
                continue
            where = f'{name}: {case} at {width}'
            check_layout(where, one, width)
            check_pixels(where, one)
            check_tables(where, one)
            if one['zoom']:
                check_zoom(where, one)
    return {case: found[f'{case}.probed-1280'] for case in CASES if f'{case}.probed-1280' in found}


for case in CASES:
    check_file(case)
check_detectors()
check_quiet()
light, dark = check_look('light'), check_look('dark', DARK)
if not problems:
    check_words(light)
for case in CASES if not problems else []:
    check(f'{case}: light is light and dark is dark', light[case]['background'] == 'rgb(255, 255, 255)' and
          dark[case]['background'] == 'rgb(20, 23, 27)', (light[case]['background'], dark[case]['background']))
for problem in problems[:40]:
    print('FAILED:', problem)
if problems:
    print(len(problems), 'problems')
sys.exit(bool(problems))
