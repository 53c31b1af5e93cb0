# SPDX-License-Identifier: MIT
# table.awk: the figures of bench/engine/run, in requests a second, and how they stand to each other.
BEGIN {
    FS = "\t"
    pipelines = split("1 16 64", pipeline, " ")
    jobs = split("bare ping|bare set|module take|module throttle|cell throttle|lua fcall|script evalsha", job, "|")
}

{ figure[$2 " " $3, $4, ++count[$2 " " $3, $4]] = $7 }

function median(name, depth,    i, j, n, value, swap) {
    n = count[name, depth]
    for (i = 1; i <= n; i++) value[i] = figure[name, depth, i]
    for (i = 1; i <= n; i++)
        for (j = i + 1; j <= n; j++)
            if (value[j] < value[i]) { swap = value[i]; value[i] = value[j]; value[j] = swap }
    return n ? value[int((n + 1) / 2)] : 0
}

function ratio(words, one, other, goal,    i, base) {
    printf "%-34s", words
    for (i = 1; i <= pipelines; i++) {
        base = median(other, pipeline[i])
        printf "%12s", base ? sprintf("%.2f", median(one, pipeline[i]) / base) : "-"
    }
    printf "   %s\n", goal
}

END {
    printf "%-34s%12s%12s%12s\n", "requests a second, pipelined by", 1, 16, 64
    for (i = 1; i <= jobs; i++) {
        printf "%-34s", job[i]
        for (j = 1; j <= pipelines; j++) printf "%12.0f", median(job[i], pipeline[j])
        printf "\n"
    }
    ratio("CL.THROTTLE: module / redis-cell", "module throttle", "cell throttle", "goal: 1.8")
    ratio("WEIR.TAKE / redis-cell", "module take", "cell throttle", "")
    ratio("CL.THROTTLE of the module / SET", "module throttle", "bare set", "goal: 0.8")
    ratio("WEIR.TAKE / SET", "module take", "bare set", "")
    ratio("weir.lua / a minimal script", "lua fcall", "script evalsha", "goal: 1.0")
}
