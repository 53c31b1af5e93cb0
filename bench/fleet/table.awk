# SPDX-License-Identifier: MIT
# table.awk: what bench/fleet/run simulated as a table in Markdown (see report).

function per_cent(x) {
    return x == 0 ? "0" : sprintf("%.1f %%", 100 * x)
}

function nodes_of(row,    part) {
    split(row, part, FS)
    return part[2]
}

function of_one(row,    part) {
    split(row, part, FS)
    return part[1] FS part[2] FS "one limiter"
}

function figure(what, row) {
    if (what == "over") return per_cent(excess[row] > 0 ? excess[row] / A_SECOND : 0)
    if (what == "denied") return per_cent(wrongly_denied[row] / requests[row])
    if (what == "allowed") return per_cent(allowed[row] / allowed[of_one(row)])
    if (what == "least") return per_cent(node_least[row] * nodes_of(row) / allowed[row])
    if (what == "waited") return per_cent(waited[row])
    return number_text(calls[row])
}

# Designs one behind the other that come out alike share a row.
function put(title, what, load, designs,    n, name, names, cells, before, i, j) {
    n = split(designs, name, ";")
    for (i = 1; i <= n + 1; i++) {
        cells = ""
        for (j = 1; i <= n && j <= columns; j++) {
            cells = cells sprintf(" %s |", figure(what, load FS shown[j] FS name[i]))
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
    for (i = 1; i <= notes; i++) said = said (said == "" ? "" : "; ") note[i]
    for (i = 1; i <= counts; i++) if (count[i] ~ /^10*$/) shown[++columns] = count[i]
    leases = "leases of 8;leases of 32;leases of 128"
    gsub(/: +/, ": ", said)
    print said "."
    print ""
    printf "| | nodes |"
    for (j = 1; j <= columns; j++) printf " %s |", number_text(shown[j])
    printf "\n|---|---|"
    for (j = 1; j <= columns; j++) printf "---|"
    print ""
    put("storm: over B + r·t in the worst window, of what a second may have", "over", "storm",
        "engine;" leases ";shares;alone")
    put("calm: refused by mistake, of all calls", "denied", "calm", "engine;" leases ";shares;alone")
    put("calm: engine calls a second", "calls", "calm", "engine;" leases)
    put("storm: engine calls a second", "calls", "storm", "engine;" leases)
    put("flood: engine calls a second", "calls", "flood", "engine;" leases)
    put("flood: let pass, of what one limiter does", "allowed", "flood", "engine;" leases)
    put("flood: the node that got least, of an equal part", "least", "flood", "engine;" leases)
    put("calm: calls that waited for the engine", "waited", "calm", "engine;" leases)
}
