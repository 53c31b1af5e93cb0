# SPDX-License-Identifier: MIT
# plot.awk: what bench/fleet/run simulated as a picture (see plot): over the number of nodes,
# one under the other, over-admission in a storm, refusals by mistake in the calm, engine calls in the calm and in a
# flood.

function style(    i) {
    begin_picture()
    print ":root{--back:#fff;--ink:#333;--grid:#ddd;--d1:#888;--d2:#8a4fb0;--d3:#1668b2;--d4:#0b7d62;--d5:#b3541e}"
    print "@media(prefers-color-scheme:dark){:root{--back:#0d1117;--ink:#ccc;--grid:#333"
    print ";--d1:#999;--d2:#c595ec;--d3:#5aa9f0;--d4:#3fc7a0;--d5:#f09a5e}}"
    print "text{font:12px sans-serif;fill:var(--ink)}.t{font-weight:bold}.g{stroke:var(--grid);fill:none}"
    print ".l{fill:none;stroke-width:2}path.lead{fill:none;stroke-width:1;stroke-dasharray:1 3}"
    print "path.d1{stroke-dasharray:6 3}"
    for (i = 1; i <= designs; i++) {
        printf "text.d%d{fill:var(--d%d)}path.d%d{stroke:var(--d%d)}circle.d%d{fill:var(--d%d)}\n", i, i, i, i, i, i
    }
    end_style()
}

# ---- one panel: value[design, nodes], from 0, or by decades from the ground ----

function x_of(count) {
    return LEFT + log10(count) / log10(count_max) * (RIGHT - LEFT)
}

function y_of(number) {
    if (decades) return bottom - log10(number > ground ? number / ground : 1) / log10(ceiling / ground) * PANEL
    return bottom - number / ceiling * PANEL
}

function draw_grid(title, unit, step,    i) {
    text_at(LEFT, top - 12, "start", "t", title)
    for (i = decades ? ground : 0; i <= ceiling; i = decades ? i * 10 : i + step) {
        line_at(LEFT, y_of(i), RIGHT, y_of(i), "g")
        text_at(LEFT - 8, y_of(i) + 4, "end", "", number_text(i) unit)
    }
    for (i = 1; i <= count_max; i *= 10) {
        line_at(x_of(i), top, x_of(i), bottom, "g")
        text_at(x_of(i), bottom + 18, "middle", "", number_text(i) (i == count_max ? " nodes" : ""))
    }
}

function draw_curve(i,    j, path) {
    end_y[design[i]] = label_y[design[i]] = y_of(value[i, count_max])
    said[design[i]] = design[i]
    if (decades && value[i, count_max] == 0) {
        said[design[i]] = design[i] ": none"
        return
    }
    for (j = 1; j <= counts; j++) {
        path = path (j == 1 ? "M" : "L") sprintf("%.1f %.1f", x_of(count[j]), y_of(value[i, count[j]]))
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"d%d\"/>\n", x_of(count[j]), y_of(value[i, count[j]]), i
    }
    printf "<path class=\"l d%d\" d=\"%s\"/>\n", i, path
}

function draw_labels(    i, name) {
    for (i = 1; i <= designs; i++) label[i] = design[i]
    spread_labels(designs, 0, bottom)
    for (i = 1; i <= designs; i++) {
        name = design[i]
        if (said[name] == name) line_at(RIGHT + 4, end_y[name], LABELS - 4, label_y[name], "lead d" i)
        text_at(LABELS, label_y[name] + 4, "start", "d" i, said[name])
    }
}

function draw_panel(number, load, column, title, unit, step,    i, j, row) {
    top = TITLE + (number - 1) * (PANEL + GAP)
    bottom = top + PANEL
    for (i = 1; i <= designs; i++) {
        for (j = 1; j <= counts; j++) {
            row = load FS count[j] FS design[i]
            value[i, count[j]] = share_of(column, row)
        }
    }
    draw_grid(title, unit, step)
    for (i = 1; i <= designs; i++) draw_curve(i)
    draw_labels()
}

# ---- what the rows say ----

# Per cent of what a second may have, burst + rate; per cent of the calls; a second.
function share_of(column, row) {
    if (column == "over") return excess[row] > 0 ? 100 * excess[row] / A_SECOND : 0
    if (column == "denied") return 100 * wrongly_denied[row] / requests[row]
    return calls[row]
}

END {
    WIDTH = 900
    HEIGHT = 1050
    LEFT = 66
    RIGHT = 700
    LABELS = 740
    LABEL = 15
    TITLE = 40
    PANEL = 180
    GAP = 70
    designs = split("engine;leases of 128;leases of 32;leases of 8;shares", design, ";")
    style()
    ceiling = 100
    draw_panel(1, "storm", "over",
        "Over-admission in a storm: above B + r·t in the worst window, of what a second may have", " %", 25)
    draw_panel(2, "calm", "denied",
        "Refused by mistake in the calm: of all calls, though one limiter would let them pass", " %", 25)
    ceiling = 10000
    ground = 100
    decades = 1
    draw_panel(3, "calm", "calls", "Engine calls a second in the calm, for 8,000 calls a second", "", 0)
    ceiling = 100000
    draw_panel(4, "flood", "calls",
        "Engine calls a second in a flood: 20,000 calls a second, of which 1,000 may pass", "", 0)
    end_picture(LEFT, HEIGHT - 10)
}
