/* SPDX-License-Identifier: MIT
   What must not happen, so that a test can fail by it.

   A percentile is rounded up by at most 1/128 (the summary prints the same one), so nothing too late passes. */
#include "cli/pace/latency/fail.h"

#include <string.h>

#include "plan/amount.h"
#include "plan/write.h"

enum { PER_THOUSAND = 1000 };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* p99.9: tenths at most, and the largest is max. */
static bool read_percentile(const char *text, size_t size, uint64_t *per_thousand)
{
    size_t at = 1;
    uint64_t whole = 0, tenth = 0;
    if (size == 3 && memcmp(text, "max", 3) == 0) {
        *per_thousand = PER_THOUSAND;
        return true;
    }
    if (size < 2 || text[0] != 'p') return false;
    for (; at < size && at < 4 && is_digit(text[at]); at++) whole = whole * 10 + (uint64_t)(text[at] - '0');
    if (at > 1 && at + 2 == size && text[at] == '.' && is_digit(text[at + 1])) {
        tenth = (uint64_t)(text[at + 1] - '0');
        at = size;
    }
    *per_thousand = whole * 10 + tenth;
    return at == size && *per_thousand > 0 && *per_thousand <= PER_THOUSAND;
}

/* One of them, of `size` bytes. */
static bool read_late(struct fail_late *late, const char *text, size_t size)
{
    if (size >= sizeof late->text) return false;
    memcpy(late->text, text, size);
    late->text[size] = '\0';
    const char *equals = strchr(late->text, '=');
    return equals != NULL && read_percentile(late->text, (size_t)(equals - late->text), &late->per_thousand) &&
           amount_time(equals + 1, &late->most_ns);
}

bool fail_read_late(const struct option_row *row, const char *value, void *into)
{
    struct fail *fail = into;
    for (const char *at = value;; at++) {
        const size_t size = strcspn(at, ",");
        if (fail->count == FAIL_LATE_MAX) {
            trouble("--%s: at most %d of them", row->name, FAIL_LATE_MAX);
            return false;
        }
        if (!read_late(&fail->late[fail->count++], at, size)) {
            trouble("--%s \"%.*s\": expected a percentile (in tenths at most) or max, and a time; for example p99=50ms "
                    "or p50=1ms,p99.9=50ms,max=1s",
                    row->name, (int)size, at);
            return false;
        }
        at += size;
        if (*at == '\0') return true;
    }
}

bool fail_read_missed(const struct option_row *row, const char *value, void *into)
{
    struct fail *fail = into;
    fail->has_missed = true;
    if (amount_count(value, &fail->missed_max)) return true;
    trouble("--%s \"%s\": expected how many starts may be missed; for example 0", row->name, value);
    return false;
}

/* --fail-late p99=50ms: 61.3 ms, too late */
static bool check_late(const struct fail_late *late, const struct histogram *histogram, bool quiet)
{
    char seen[64];
    struct writer writer = {seen, sizeof seen, 0};
    const uint64_t seen_ns =
        late->per_thousand == PER_THOUSAND ? histogram->max : histogram_quantile(histogram, late->per_thousand);
    const bool holds = seen_ns <= late->most_ns;
    write_about(&writer, seen_ns);
    if (!holds || !quiet) trouble("--fail-late %s: it was %s%s", late->text, seen, holds ? "" : ", too late");
    return holds;
}

static bool check_missed(const struct fail *fail, uint64_t missed, bool quiet)
{
    const bool holds = !fail->has_missed || missed <= fail->missed_max;
    if (fail->has_missed && (!holds || !quiet)) {
        trouble("--fail-missed %llu: %llu missed%s", (unsigned long long)fail->missed_max, (unsigned long long)missed,
                holds ? "" : ", too many");
    }
    return holds;
}

bool fail_check(const struct fail *fail, struct record *record, const struct record_owed *owed, bool quiet)
{
    bool holds = true;
    host_lock(&record->mutex);
    for (int i = 0; i < fail->count; i++) holds = check_late(&fail->late[i], &record->late, quiet) && holds;
    host_unlock(&record->mutex);
    return check_missed(fail, owed->missed, quiet) && holds;
}
