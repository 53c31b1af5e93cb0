# SPDX-License-Identifier: MIT
# plot.awk: the figures of bench/rivals/run as a picture (see plot): how many permits a
# second by threads, and at one rate how late against how much processor time.

function decade_text(us) {
    if (us >= 6) return number_text(10 ^ (us - 6)) " s"
    return us >= 3 ? number_text(10 ^ (us - 3)) " ms" : number_text(10 ^ us) " us"
}

# The class of a folder: weir is itself, so are the floors, and rivals have colours in the order of their names.
function class_of(name) {
    return name == "weir" || name == "floor" ? name : "r" rank[name]
}

function rank_rivals(    i, j, n, name, names, moved, known) {
    n = 0
    for (i = 1; i <= rows; i++) {
        name = folder[order[i]]
        if (name in known || !is_rival(order[i])) continue
        known[name]
        for (j = n++; j >= 1 && names[j] > name; j--) names[j + 1] = names[j]
        names[j + 1] = name
    }
    for (i = 1; i <= n; i++) rank[names[i]] = (i - 1) % COLOURS + 1
}

function style(    i, name) {
    begin_picture()
    print ":root{--back:#fff;--ink:#333;--grid:#ddd;--weir:#1668b2;--floor:#888}"
    print ":root{--r1:#b3541e;--r2:#0b7d62;--r3:#8a4fb0;--r4:#a8842c;--r5:#b0306a}"
    print "@media(prefers-color-scheme:dark){"
    print ":root{--back:#0d1117;--ink:#ccc;--grid:#333;--weir:#5aa9f0;--floor:#999}"
    print ":root{--r1:#f09a5e;--r2:#3fc7a0;--r3:#c595ec;--r4:#d9bb5a;--r5:#f07ab0}}"
    print "text{font:12px sans-serif;fill:var(--ink)}.t{font-weight:bold}.g{stroke:var(--grid);fill:none}"
    print ".l{fill:none;stroke-width:1.5}path.lead{fill:none;stroke-width:1;stroke-dasharray:1 3}"
    for (i = 1; i <= COLOURS + 2; i++) {
        name = i <= COLOURS ? "r" i : i == COLOURS + 1 ? "weir" : "floor"
        printf "text.%s{fill:var(--%s)}path.%s{stroke:var(--%s)}", name, name, name, name
        printf "circle.%s{fill:var(--%s);stroke:var(--%s)}\n", name, name, name
    }
    print "path.l.floor{stroke-dasharray:6 3}path.l.weir{stroke-width:3}text.weir{font-weight:bold}"
    print "circle.hollow{fill:var(--back)}text.n{font-size:10px;fill:var(--back)}text.o{font-size:10px}"
    end_style()
}

# ---- permits a second by threads ----

# One permit a call, and of the floors those that a limiter can be held against.
function is_curve(row) {
    if (work[row] == "floor") return who[row] ~ /^(thread-local counter|fetch-add|compare-and-swap)$/
    return work[row] == "grant" && who[row] !~ /_some|hybrid|sliding log/
}

function rate_x(count) {
    return LEFT + log10(count) / log10(count_max) * (RIGHT - LEFT)
}

function rate_y(rate) {
    return bottom - (log10(rate) - floor_decade) / (top_decade - floor_decade) * (bottom - top)
}

function gather_curves(    i, row, name, rate) {
    count_max = 2
    rate_least = 1e9
    rate_most = 0
    for (i = 1; i <= rows; i++) {
        row = order[i]
        if (!is_curve(row)) continue
        name = who[row]
        if (!(name in curve)) {
            label[++curves] = name
            curve_class[name] = class_of(work[row] == "floor" ? "floor" : folder[row])
        }
        rate = median(row, VALUE)
        curve[name] = curve[name] FS threads[row] FS rate
        count_max = most(count_max, threads[row])
        rate_least = least(rate_least, rate)
        rate_most = most(rate_most, rate)
        counts[threads[row]]
    }
}

function draw_curve(name,    points, n, i, path, x, y) {
    n = split(substr(curve[name], 2), points, FS)
    for (i = 1; i < n; i += 2) {
        x = rate_x(points[i])
        y = rate_y(points[i + 1])
        path = path (i == 1 ? "M" : "L") sprintf("%.1f %.1f", x, y)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" class=\"%s\"/>\n", x, y, curve_class[name]
    }
    printf "<path class=\"l %s\" d=\"%s\"/>\n", curve_class[name], path
    end_x[name] = x
    label_y[name] = end_y[name] = y
}

function draw_rates(    i, y, name, count) {
    top = TITLE + 12
    bottom = top + RATES_HEIGHT
    gather_curves()
    if (curves == 0) return
    floor_decade = int(log10(rate_least) + 10) - 10
    top_decade = int(log10(rate_most) + 1)
    text_at(LEFT, TITLE - 8, "start", "t", "Permits from one shared limiter, million a second, by threads")
    for (i = floor_decade; i <= top_decade; i++) {
        y = rate_y(10 ^ i)
        line_at(LEFT, y, RIGHT, y, "g")
        text_at(LEFT - 8, y + 4, "end", "", number_text(10 ^ i))
    }
    for (count in counts) {
        line_at(rate_x(count), top, rate_x(count), bottom, "g")
        text_at(rate_x(count), bottom + 18, "middle", "", count)
    }
    for (i = 1; i <= curves; i++) draw_curve(label[i])
    spread_labels(curves, top + 4, bottom + 24)
    for (i = 1; i <= curves; i++) {
        name = label[i]
        line_at(end_x[name] + 3, end_y[name], LABELS - 4, label_y[name], "lead " curve_class[name])
        text_at(LABELS, label_y[name] + 4, "start", curve_class[name], name)
    }
}

# ---- lateness against processor time, at one rate ----

# Early is drawn by how far it is from the schedule, too.
function late_us(row) {
    return most(off(row) / 1e3, 1)
}

function late_x(us) {
    return LEFT + (log10(us) - first_decade) / (last_decade - first_decade) * (RIGHT - LEFT)
}

function cpu_y(cpu) {
    return bottom - cpu / cpu_max * (bottom - top)
}

function gather_points(    i, row) {
    cpu_max = 0.5
    late_least = 1e12
    late_most = 0
    for (i = 1; i <= rows; i++) {
        row = order[i]
        if (work[row] != "pace " PACE_RATE) continue
        point[++points] = row
        cpu_max = most(cpu_max, median(row, CPU))
        late_least = least(late_least, late_us(row))
        late_most = most(late_most, late_us(row))
    }
    cpu_max = (int(cpu_max * 2) + 1) / 2
    first_decade = int(log10(late_least))
    last_decade = int(log10(late_most)) + 1
}

function sort_points(    i, j, moved) {
    for (i = 2; i <= points; i++) {
        moved = point[i]
        for (j = i - 1; j >= 1 && late_us(point[j]) > late_us(moved); j--) point[j + 1] = point[j]
        point[j + 1] = moved
    }
}

function draw_point(i,    row, x, y, class, said) {
    row = point[i]
    class = class_of(folder[row])
    x = late_x(late_us(row))
    y = cpu_y(median(row, CPU))
    printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"8\" class=\"%s%s\"/>\n", x, y, class, on_rate(row) ? "" : " hollow"
    text_at(x, y + 3.5, "middle", on_rate(row) ? "n" : "o", i)
    said = i "  " who[row]
    if (!on_rate(row)) said = said sprintf(": %.2f of the rate", median(row, VALUE))
    text_at(LABELS, top + 4 + (i - 1) * LABEL, "start", class, said)
}

function draw_paces(    i, x, y) {
    top = bottom + PANEL_GAP
    bottom = top + PACES_HEIGHT
    gather_points()
    if (points == 0) return
    sort_points()
    text_at(LEFT, top - 20, "start", "t", sprintf("Pacing at %s a second by %d threads: processor seconds a second, " \
        "by how far off the schedule", number_text(PACE_RATE), threads[point[1]]))
    for (i = 0; i <= cpu_max * 2; i++) {
        y = cpu_y(i / 2)
        line_at(LEFT, y, RIGHT, y, "g")
        text_at(LEFT - 8, y + 4, "end", "", sprintf("%.1f", i / 2))
    }
    for (i = first_decade; i <= last_decade; i++) {
        x = late_x(10 ^ i)
        line_at(x, top, x, bottom, "g")
        text_at(x, bottom + 18, "middle", "", decade_text(i))
    }
    text_at((LEFT + RIGHT) / 2, bottom + 36, "middle", "",
        "p99 of lateness (p50 where that is further off, early or late)")
    for (i = points; i >= 1; i--) draw_point(i)
    text_at(LABELS, bottom + 4, "start", "", "hollow: misses the rate by over 1 %")
}

END {
    COLOURS = 5
    WIDTH = 900
    HEIGHT = 860
    LEFT = 56
    RIGHT = 560
    LABELS = 600
    LABEL = 15
    TITLE = 26
    RATES_HEIGHT = 400
    PANEL_GAP = 78
    PACES_HEIGHT = 280
    PACE_RATE = 1000000
    rank_rivals()
    style()
    draw_rates()
    draw_paces()
    end_picture(LEFT, HEIGHT - 8)
}
