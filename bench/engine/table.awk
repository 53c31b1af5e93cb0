# SPDX-License-Identifier: MIT
# table.awk: the figures of bench/engine/run, in requests a second, and how they stand to each other.
BEGIN {
    FS = "\t"
    pipelines = split("1 16 64", pipeline, " ")
    jobs = split("bare ping|bare set|until set-until|module owing|cell owing|module take|module throttle|" \
                     "cell throttle|fresh-module owing|fresh-cell owing|lua fcall-owing|script evalsha-owing|" \
                     "lua fcall|script evalsha|fresh-lua fcall-owing|fresh-script evalsha-owing", job, "|")
}

{
    figure["rate", $2 " " $3, $4, ++count[$2 " " $3, $4]] = $7
    figure["cpu", $2 " " $3, $4, count[$2 " " $3, $4]] = $13
}

function median(what, name, depth,    i, n) {
    n = count[name, depth]
    for (i = 1; i <= n; i++) sample[i] = figure[what, name, depth, i] + 0
    return n ? middle(n) : 0
}

# Of rates, and of what the engine's processor needs for a request, which others on the machine change less.
function ratio(words, one, other, goal,    i, base) {
    printf "%-34s", words
    for (i = 1; i <= pipelines; i++) {
        base = median("rate", other, pipeline[i])
        printf "%12s", base ? sprintf("%.2f", median("rate", one, pipeline[i]) / base) : "-"
    }
    for (i = 1; i <= pipelines; i++) {
        base = median("cpu", one, pipeline[i])
        printf "%8s", base ? sprintf("%.2f", median("cpu", other, pipeline[i]) / base) : "-"
    }
    printf "   %s\n", goal
}

END {
    printf "%-34s%12s%12s%12s%8s%8s%8s\n", "requests/s, us of CPU; pipeline", 1, 16, 64, 1, 16, 64
    for (i = 1; i <= jobs; i++) {
        printf "%-34s", job[i]
        for (j = 1; j <= pipelines; j++) printf "%12.0f", median("rate", job[i], pipeline[j])
        for (j = 1; j <= pipelines; j++) printf "%8.2f", median("cpu", job[i], pipeline[j])
        printf "\n"
    }
    ratio("module / redis-cell, keys stay", "module owing", "cell owing", "goal: 2.0")
    ratio("module / redis-cell, keys go", "module throttle", "cell throttle", "")
    ratio("WEIR.TAKE / redis-cell, keys go", "module take", "cell throttle", "")
    ratio("module / redis-cell, fresh keys", "fresh-module owing", "fresh-cell owing", "")
    ratio("module / SET, keys stay", "module owing", "bare set", "goal: 0.7")
    ratio("module / SET with an end", "module owing", "until set-until", "")
    ratio("SET / redis-cell, keys stay", "bare set", "cell owing", "")
    ratio("PING / redis-cell, keys stay", "bare ping", "cell owing", "no command is faster")
    ratio("weir.lua / a script, keys stay", "lua fcall-owing", "script evalsha-owing", "goal: 1.0")
    ratio("weir.lua / a script, keys go", "lua fcall", "script evalsha", "")
    ratio("weir.lua / a script, fresh keys", "fresh-lua fcall-owing", "fresh-script evalsha-owing", "goal: 0.95")
}
