# SPDX-License-Identifier: MIT
# plot.awk: what bench/fleet/run simulated as a picture (awk -F '\t' -f plot.awk fleet.tsv): over the number of nodes,
# one under the other, over-admission in a storm, refusals by mistake in the calm, engine calls in the calm and in a
# flood.

function log10(x) {
    return log(x) / log(10)
}

function text_at(x, y, anchor, class, text) {
    gsub(/&/, "\\&amp;", text)
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor,
        class == "" ? "" : " class=\"" class "\"", text
}

function line_at(x1, y1, x2, y2, class) {
    printf "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, x1, y1, x2, y2
}

function number_text(x,    text, end) {
    text = sprintf("%.0f", x)
    for (end = length(text) - 3; end > 0; end -= 3) text = substr(text, 1, end) "," substr(text, end + 1)
    return text
}

function head(    i, name) {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT
    print "<style>"
    print ":root{--back:#fff;--ink:#333;--grid:#ddd;--d1:#888;--d2:#8a4fb0;--d3:#1668b2;--d4:#0b7d62;--d5:#b3541e}"
    print "@media(prefers-color-scheme:dark){:root{--back:#0d1117;--ink:#ccc;--grid:#333"
    print ";--d1:#999;--d2:#c595ec;--d3:#5aa9f0;--d4:#3fc7a0;--d5:#f09a5e}}"
    print "text{font:12px sans-serif;fill:var(--ink)}.t{font-weight:bold}.g{stroke:var(--grid);fill:none}"
    print ".l{fill:none;stroke-width:2}path.lead{fill:none;stroke-width:1;stroke-dasharray:1 3}"
    print "path.d1{stroke-dasharray:6 3}"
    for (i = 1; i <= designs; i++) {
        printf "text.d%d{fill:var(--d%d)}path.d%d{stroke:var(--d%d)}circle.d%d{fill:var(--d%d)}\n", i, i, i, i, i, i
    }
    print "</style>"
    print "<rect width=\"100%\" height=\"100%\" fill=\"var(--back)\"/>"
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
    end_y[i] = label_y[i] = y_of(value[i, count_max])
    label[i] = design[i]
    if (decades && value[i, count_max] == 0) {
        label[i] = design[i] ": none"
        return
    }
    for (j = 1; j <= counts; j++) {
        path = path (j == 1 ? "M" : "L") sprintf("%.1f %.1f", x_of(count[j]), y_of(value[i, count[j]]))
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"d%d\"/>\n", x_of(count[j]), y_of(value[i, count[j]]), i
    }
    printf "<path class=\"l d%d\" d=\"%s\"/>\n", i, path
}

# Each at least LABEL below the one above, and all above the bottom.
function draw_labels(    i, j, moved, order) {
    for (i = 1; i <= designs; i++) {
        for (j = i - 1; j >= 1 && label_y[order[j]] > label_y[i]; j--) order[j + 1] = order[j]
        order[j + 1] = i
    }
    for (i = 2; i <= designs; i++) {
        if (label_y[order[i]] < label_y[order[i - 1]] + LABEL) label_y[order[i]] = label_y[order[i - 1]] + LABEL
    }
    for (i = designs; i >= 1; i--) {
        moved = i == designs ? bottom : label_y[order[i + 1]] - LABEL
        if (label_y[order[i]] > moved) label_y[order[i]] = moved
    }
    for (i = 1; i <= designs; i++) {
        if (label[i] == design[i]) line_at(RIGHT + 4, end_y[i], LABELS - 4, label_y[i], "lead d" i)
        text_at(LABELS, label_y[i] + 4, "start", "d" i, label[i])
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

/^#/ {
    note[++notes] = substr($0, 3)
    next
}

{
    row = $1 FS $2 FS $3
    requests[row] = $4 + $5
    wrongly_denied[row] = $6
    excess[row] = $8
    calls[row] = $9
    if (!($2 in seen)) count[++counts] = $2
    seen[$2]
    count_max = $2 > count_max ? $2 + 0 : count_max
}

END {
    A_SECOND = 11000 # 10000/s burst=1000
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
    head()
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
    for (i = 1; i <= notes; i++) {
        if (note[i] ~ /^(machine|commit):/) said = said (said == "" ? "" : "; ") note[i]
    }
    gsub(/: +/, ": ", said)
    text_at(LEFT, HEIGHT - 10, "start", "", said)
    print "</svg>"
}
