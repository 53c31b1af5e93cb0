# SPDX-License-Identifier: MIT
# middle.awk: the middle of sample[1..n], which it sorts; leaves the least and the most in low and high.
function middle(n,    i, j, moved) {
    for (i = 2; i <= n; i++) {
        moved = sample[i]
        for (j = i - 1; j >= 1 && sample[j] > moved; j--) sample[j + 1] = sample[j]
        sample[j + 1] = moved
    }
    low = sample[1]
    high = sample[n]
    return (sample[int((n + 1) / 2)] + sample[int(n / 2) + 1]) / 2
}
