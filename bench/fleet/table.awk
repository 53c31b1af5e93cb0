# SPDX-License-Identifier: MIT
# table.awk: what bench/fleet/run simulated as a table in Markdown (awk -F '\t' -f table.awk fleet.tsv).

/^# / {
    said = said (said == "" ? "" : "; ") substr($0, 3)
    next
}

{
    row = $1 FS $2 FS $3
    requests[row] = $4 + $5
    wrongly_denied[row] = $6
    excess[row] = $8
    calls[row] = $9
    waited[row] = $11
    if (!($2 in seen) && $2 ~ /^10*$/) count[++counts] = $2
    seen[$2]
}

function number_text(x,    text, end) {
    text = sprintf("%.0f", x)
    for (end = length(text) - 3; end > 0; end -= 3) text = substr(text, 1, end) "," substr(text, end + 1)
    return text
}

function per_cent(x) {
    return x == 0 ? "0" : sprintf("%.1f %%", 100 * x)
}

function figure(what, row) {
    if (what == "over") return per_cent(excess[row] > 0 ? excess[row] / A_SECOND : 0)
    if (what == "denied") return per_cent(wrongly_denied[row] / requests[row])
    if (what == "waited") return per_cent(waited[row])
    return number_text(calls[row])
}

# Designs one behind the other that come out alike share a row.
function put(title, what, load, designs,    n, name, names, cells, before, i, j) {
    n = split(designs, name, ";")
    for (i = 1; i <= n + 1; i++) {
        cells = ""
        for (j = 1; i <= n && j <= counts; j++) {
            cells = cells sprintf(" %s |", figure(what, load FS count[j] FS name[i]))
        }
        if (cells == before) {
            names = names ", " name[i]
            continue
        }
        if (before != "") {
            printf "| %s | %s |%s\n", title, names, before
            title = ""
        }
        names = name[i]
        before = cells
    }
}

END {
    A_SECOND = 11000 # 10000/s burst=1000
    leases = "leases of 8;leases of 32;leases of 128"
    gsub(/: +/, ": ", said)
    print said "."
    print ""
    printf "| | nodes |"
    for (j = 1; j <= counts; j++) printf " %s |", number_text(count[j])
    printf "\n|---|---|"
    for (j = 1; j <= counts; j++) printf "---|"
    print ""
    put("storm: over B + r·t in the worst window, of what a second may have", "over", "storm",
        "engine;" leases ";shares;alone")
    put("calm: refused by mistake, of all calls", "denied", "calm", "engine;" leases ";shares;alone")
    put("calm: engine calls a second", "calls", "calm", "engine;" leases)
    put("storm: engine calls a second", "calls", "storm", "engine;" leases)
    put("flood: engine calls a second", "calls", "flood", "engine;" leases)
    put("calm: calls that waited for the engine", "waited", "calm", "engine;" leases)
}
