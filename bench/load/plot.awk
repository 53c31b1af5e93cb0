# SPDX-License-Identifier: MIT
# plot.awk: asked against started (see plot), as rates in equal parts of the time.
BEGIN {
    PARTS = 100
    WIDTH = 760
    LEFT = 64
    RIGHT = 744
    TITLE = 26
    PANEL = 150
    GAP = 76
    HEIGHT = panels * (PANEL + GAP) + 24
    begin_picture()
    print ":root{--back:#fff;--ink:#333;--grid:#ddd;--asked:#f0b48a;--started:#1668b2}"
    print "@media(prefers-color-scheme:dark){"
    print ":root{--back:#0d1117;--ink:#ccc;--grid:#333;--asked:#8a5a38;--started:#5aa9f0}}"
    print "text{font:12px sans-serif;fill:var(--ink)}.t{font-weight:bold}.g{stroke:var(--grid);fill:none}"
    print "text.a{fill:var(--asked);font-weight:bold}text.s{fill:var(--started);font-weight:bold}"
    print ".asked{stroke:var(--asked);fill:none;stroke-width:6}"
    print ".started{stroke:var(--started);fill:none;stroke-width:1.5}"
    end_style()
}

/^# / {
    draw()
    title = substr($0, 3)
    starts = 0
    next
}

# Less than 2^53: a double has each ns of a hundred days.
{
    due[++starts] = $1
    start[starts] = $2
}

# 1, 2 or 5 times a power of ten, such that few of them reach x.
function step_for(x,    step) {
    step = 10 ^ int(log10(x / 4) + 100) / 10 ^ 100
    return x / step > 20 ? step * 5 : x / step > 8 ? step * 2 : step
}

function part_of(ns) {
    return least(int((ns - due[1]) / part_ns), PARTS - 1)
}

# A step for each part of the time.
function curve(times, class,    i, part, path, count, x, y) {
    for (i = 1; i <= starts; i++) count[part_of(times[i])]++
    for (part = 0; part < PARTS; part++) {
        y = bottom - least(count[part] / part_ns * 1e9, most_rate) / most_rate * PANEL
        x = LEFT + part / PARTS * (RIGHT - LEFT)
        path = path sprintf("%s%.1f %.1fH%.1f", part == 0 ? "M" : "L", x, y, least(x + (RIGHT - LEFT) / PARTS, RIGHT))
    }
    printf "<path class=\"%s\" d=\"%s\"/>\n", class, path
}

function late_text(    i, late, most_late) {
    for (i = 1; i <= starts; i++) {
        late = start[i] - due[i]
        most_late = most(most_late, late)
    }
    return sprintf("%s starts, at most %.2f ms late", number_text(starts), most_late / 1e6)
}

function draw(    i, count, y, x, step, span_s) {
    if (starts < 2) return
    top = drawn++ * (PANEL + GAP) + TITLE + 10
    bottom = top + PANEL
    last = most(due[starts], start[starts])
    part_ns = (last - due[1]) / PARTS
    span_s = (last - due[1]) / 1e9
    most_rate = 0
    for (i = 1; i <= starts; i++) count[part_of(due[i])]++
    for (i in count) most_rate = most(most_rate, count[i] / part_ns * 1e9 * 1.1)
    text_at(LEFT, top - 12, "start", "t", title)
    text_at(RIGHT, bottom + 34, "end", "", late_text())
    step = step_for(most_rate)
    for (i = 0; i * step <= most_rate; i++) {
        y = bottom - i * step / most_rate * PANEL
        line_at(LEFT, y, RIGHT, y, "g")
        text_at(LEFT - 8, y + 4, "end", "", number_text(i * step) (i == 0 ? "" : "/s"))
    }
    step = step_for(span_s)
    for (i = 0; i * step <= span_s; i++) {
        x = LEFT + i * step / span_s * (RIGHT - LEFT)
        text_at(x, bottom + 18, "middle", "", sprintf("%g s", i * step))
    }
    curve(due, "asked")
    curve(start, "started")
}

END {
    draw()
    text_at(LEFT, HEIGHT - 8, "start", "a", "asked")
    text_at(LEFT + 48, HEIGHT - 8, "start", "s", "started")
    print "</svg>"
}
