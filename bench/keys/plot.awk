# SPDX-License-Identifier: MIT
# plot.awk: what bench/keys/run measured as a picture (see plot): million takes a second over the number of keys, each
# way to ask a line of its own, and its floor the dashed line of the same colour.
BEGIN { FS = "\t" }

/^# / {
    note[++notes] = substr($0, 3)
    next
}

{
    if (!($2 in number)) way[number[$2] = ++ways] = $2
    if (!($1 in seen)) size[++sizes] = $1
    seen[$1]
    rate[number[$2], $1] = $3
    bare[number[$2], $1] = $4
    ceiling = most(ceiling, most($3, $4))
    keys_least = keys_least == "" ? $1 : least(keys_least, $1)
    keys_most = most(keys_most, $1)
}

function style(    i) {
    begin_picture()
    print ":root{--back:#fff;--ink:#333;--grid:#ddd;--d1:#8a4fb0;--d2:#888;--d3:#1668b2;--d4:#0b7d62}"
    print "@media(prefers-color-scheme:dark){:root{--back:#0d1117;--ink:#ccc;--grid:#333"
    print ";--d1:#c595ec;--d2:#999;--d3:#5aa9f0;--d4:#3fc7a0}}"
    print "text{font:12px sans-serif;fill:var(--ink)}.t{font-weight:bold}.g{stroke:var(--grid);fill:none}"
    print ".l{fill:none;stroke-width:2}.f{fill:none;stroke-width:1.5;stroke-dasharray:5 3}"
    print "path.lead{fill:none;stroke-width:1;stroke-dasharray:1 3}"
    for (i = 1; i <= ways; i++)
        printf "text.d%d{fill:var(--d%d)}path.d%d{stroke:var(--d%d)}circle.d%d{fill:var(--d%d)}\n", i, i, i, i, i, i
    end_style()
}

function x_of(keys) {
    return LEFT + log10(keys / keys_least) / log10(keys_most / keys_least) * (RIGHT - LEFT)
}

function y_of(million) {
    return BOTTOM - log10(million / GROUND) / log10(ceiling / GROUND) * (BOTTOM - TOP)
}

function draw_grid(    i) {
    text_at(LEFT, TOP - 14, "start", "t", "Million takes a second on one thread, by keys (dashed: bare swaps)")
    for (i = GROUND; i <= ceiling; i *= 10) {
        line_at(LEFT, y_of(i), RIGHT, y_of(i), "g")
        text_at(LEFT - 8, y_of(i) + 4, "end", "", number_text(i))
    }
    for (i = keys_least; i <= keys_most; i *= 10) {
        line_at(x_of(i), TOP, x_of(i), BOTTOM, "g")
        text_at(x_of(i), BOTTOM + 18, "middle", "", number_text(i) (i == keys_most ? " keys" : ""))
    }
}

function draw_curve(value, i, class,    j, path) {
    for (j = 1; j <= sizes; j++) {
        if (!((i, size[j]) in value)) continue
        path = path (path == "" ? "M" : "L") sprintf("%.1f %.1f", x_of(size[j]), y_of(value[i, size[j]]))
        if (class == "l")
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"d%d\"/>\n", x_of(size[j]),
                y_of(value[i, size[j]]), i
    }
    printf "<path class=\"%s d%d\" d=\"%s\"/>\n", class, i, path
}

# "prefetched" has the floor of "in a loop".
function draw_ways(    i) {
    for (i = 1; i <= ways; i++) {
        if (way[i] != "prefetched") draw_curve(bare, i, "f")
        draw_curve(rate, i, "l")
        label[i] = way[i]
        end_y[way[i]] = label_y[way[i]] = y_of(rate[i, keys_most])
    }
    spread_labels(ways, TOP, BOTTOM)
    for (i = 1; i <= ways; i++) {
        line_at(RIGHT + 4, end_y[way[i]], LABELS - 4, label_y[way[i]], "lead d" i)
        text_at(LABELS, label_y[way[i]] + 4, "start", "d" i, way[i])
    }
}

END {
    if (sizes < 2) {
        print "bench/keys/plot: expected figures of two sizes and more" > "/dev/stderr"
        exit 1
    }
    WIDTH = 900
    HEIGHT = 420
    LEFT = 60
    RIGHT = 730
    LABELS = 770
    LABEL = 15
    TOP = 40
    BOTTOM = 350
    GROUND = 1
    ceiling = 10 ^ int(log10(ceiling) + 0.9999)
    style()
    draw_grid()
    draw_ways()
    end_picture(LEFT, HEIGHT - 12)
}
