/* SPDX-License-Identifier: MIT
   The limits beside a guaranteed one, its ceiling. */
#include <string.h>

#include "core/algorithms.h"
#include "core/clock.h"
#include "plan/tenants/tenants.h"

/* The bursts in permits, exactly. */
static bool burst_above(const struct rule *one, const struct rule *other)
{
    return num128_less(num128_shift_left(num128_multiply(other->burst, 1), one->scale & 63),
                       num128_shift_left(num128_multiply(one->burst, 1), other->scale & 63));
}

/* A window has to hold the burst and what the rate adds in its time. */
static bool window_is_less(const struct rule *guaranteed, struct tenants_rate rate, const struct rule *window)
{
    const uint64_t burst = permits_floor(guaranteed, guaranteed->burst + (ticks_of(guaranteed, 1) - 1));
    return window->burst < burst ||
           tenants_rate_above(rate, (struct tenants_rate){window->burst - burst, most(window->period_ns, 1)});
}

static struct limit_problem check_window(const struct rule *guaranteed, struct tenants_rate rate,
                                         const struct limit *limit, const struct rule *window)
{
    if (limit->algorithm == ALGORITHM_SLIDING_LOG && limit->has_time)
        return limit_wrong(OPTION_GAP, "a ceiling lets through what is guaranteed, which knows no gap: leave gap= out");
    if (!window_is_less(guaranteed, rate, window)) return limit_fine();
    return limit_wrong(OPTION_RATE, "a ceiling lets through what is guaranteed: this window has to hold its burst and "
                                    "what its rate adds in that time; for example 5/s guaranteed; 20/s");
}

struct limit_problem tenants_check_ceiling(const struct limit *guaranteed, const struct rule *guaranteed_rule,
                                           const struct limit *ceiling, const struct rule *ceiling_rule)
{
    struct tenants_rate owed, most_allowed;
    if (strcmp(guaranteed->unit, ceiling->unit) != 0 || !tenants_rate(guaranteed, &owed)) return limit_fine();
    switch (ceiling->algorithm) {
    case ALGORITHM_UNLIMITED:
    case ALGORITHM_CONCURRENT:
        return limit_fine();
    case ALGORITHM_FIXED_WINDOW:
    case ALGORITHM_SLIDING_WINDOW:
    case ALGORITHM_SLIDING_LOG:
        return check_window(guaranteed_rule, owed, ceiling, ceiling_rule);
    case ALGORITHM_GCRA:
        if (!tenants_rate(ceiling, &most_allowed) || tenants_rate_above(owed, most_allowed))
            return limit_wrong(OPTION_RATE, "a ceiling lets through what is guaranteed: its rate is at least as high; "
                                            "for example 5/s guaranteed; 20/s");
        if (burst_above(guaranteed_rule, ceiling_rule))
            return limit_wrong(OPTION_BURST, "a ceiling lets through what is guaranteed: its burst is at least as "
                                             "large; for example 5/s burst=10 guaranteed; 20/s burst=40");
        return limit_fine();
    default:
        return limit_wrong(OPTION_ALGORITHM, "beside a guaranteed limit only gcra, windows, a sliding-log and "
                                             "concurrent limits tell what they let through; "
                                             "for example 5/s guaranteed; 20/s");
    }
}
