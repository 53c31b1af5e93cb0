# SPDX-License-Identifier: MIT
# plot.awk: what pictures of figures have in common; WIDTH, HEIGHT and LABEL, the height of a label, are set before.
function log10(x) {
    return log(x) / log(10)
}

function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    return text
}

function least(a, b) {
    return a < b ? a : b
}

function most(a, b) {
    return a > b ? a : b
}

function text_at(x, y, anchor, class, text) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor,
        class == "" ? "" : " class=\"" class "\"", escaped(text)
}

function line_at(x1, y1, x2, y2, class) {
    printf "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, x1, y1, x2, y2
}

# 0.1, 1, 10, 1,000; in full, without a fraction that is not there.
function number_text(x,    text, end) {
    if (x < 1) return sprintf("%g", x)
    text = sprintf("%.0f", x)
    for (end = length(text) - 3; end > 0; end -= 3) text = substr(text, 1, end) "," substr(text, end + 1)
    return text
}

function begin_picture() {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT
    print "<style>"
}

function end_style() {
    print "</style>"
    print "<rect width=\"100%\" height=\"100%\" fill=\"var(--back)\"/>"
}

# The machine and the commit of note[], under the picture.
function end_picture(x, y,    i, said) {
    for (i = 1; i <= notes; i++) {
        if (note[i] ~ /^(machine|commit):/) said = said (said == "" ? "" : "; ") note[i]
    }
    gsub(/: +/, ": ", said)
    text_at(x, y, "start", "", said)
    print "</svg>"
}

# Labels that do not cover each other: label[1..n], sorted by label_y[label], at least LABEL apart.
function spread_labels(n, top, bottom,    i, j, moved) {
    for (i = 2; i <= n; i++) {
        moved = label[i]
        for (j = i - 1; j >= 1 && label_y[label[j]] > label_y[moved]; j--) label[j + 1] = label[j]
        label[j + 1] = moved
    }
    for (i = 1; i <= n; i++) label_y[label[i]] = most(label_y[label[i]], i == 1 ? top : label_y[label[i - 1]] + LABEL)
    for (i = n; i >= 1; i--) {
        label_y[label[i]] = least(label_y[label[i]], i == n ? bottom : label_y[label[i + 1]] - LABEL)
    }
}
