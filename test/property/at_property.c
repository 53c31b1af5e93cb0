/* SPDX-License-Identifier: MIT
   By the stamps of a log every line is due when its stamp says, to the ns.

   oracle    a due time is the least t with (t - began) * speed >= stamp - first stamp - what was cut of the gaps
             before, in 128 bits; so it is never early, and a ns less would be
   counts    lines that went back and gaps that were cut are counted from the stamps alone */
#include "cli/pace/at.h"

#include <inttypes.h>
#include <stdio.h>

#include "property/property.h"
#include "wide.h"

enum { LINES_MEAN = 30, TEXT_SIZE = 32 };

static const uint64_t SECOND = UINT64_C(1000000000), END_NS = UINT64_C(9200000000000000000);

struct subject {
    struct prop *prop;
    struct at_course course;
    uint64_t began_ns, first_ns, latest_ns;
    wide cut;
    struct record_log log;
};

/* As it is typed: up to 15 digits, with a point anywhere. */
static void pick_speed(struct subject *subject)
{
    char text[TEXT_SIZE];
    const struct option_row row = {.name = "speed"};
    const int places = (int)prop_pick(subject->prop, 8);
    const uint64_t whole = prop_pick_size(subject->prop, 9999999), part = prop_pick(subject->prop, 10000000);
    uint64_t tens = 1, rest = part;
    for (int i = 0; i < places; i++) tens *= 10;
    for (int i = places; i < 7; i++) rest /= 10;
    if (whole == 0 && rest == 0) snprintf(text, sizeof text, "1");
    else if (places == 0) snprintf(text, sizeof text, "%" PRIu64, whole);
    else snprintf(text, sizeof text, "%" PRIu64 ".%0*" PRIu64, whole, places, rest);
    prop_note(subject->prop, "speed %s", text);
    prop_check(subject->prop, at_read_speed(&row, text, &subject->course), "%s is no speed", text);
    if (whole == 0 && rest == 0) return;
    prop_check(subject->prop, subject->course.digits == whole * tens + rest && subject->course.tens == tens,
               "%s is read as %" PRIu64 " / %" PRIu64, text, subject->course.digits, subject->course.tens);
}

static uint64_t pick_stamp(struct subject *subject)
{
    static const uint64_t units[] = {1, 1000, 1000000, UINT64_C(1000000000), UINT64_C(86400000000000)};
    const uint64_t by = prop_pick_size(subject->prop, 1000) * units[prop_pick(subject->prop, 5)];
    const uint64_t latest_ns = subject->latest_ns;
    if (prop_chance(subject->prop, 4)) return latest_ns > by ? latest_ns - by : 0;
    return latest_ns + by < END_NS ? latest_ns + by : END_NS;
}

/* What is due at t has been played by then; the clock has no time before 0 and none behind its last. */
static bool is_played(const struct subject *subject, uint64_t due_ns, wide position)
{
    const wide after = (wide)due_ns - (wide)subject->began_ns;
    return after * (wide)subject->course.digits >= position * (wide)subject->course.tens;
}

static void check_line(struct subject *subject, uint64_t stamp_ns)
{
    const uint64_t due_ns = at_due_ns(&subject->course, stamp_ns, subject->began_ns);
    const uint64_t ahead_ns = stamp_ns > subject->latest_ns ? stamp_ns - subject->latest_ns : 0;
    const uint64_t back_ns = stamp_ns < subject->latest_ns ? subject->latest_ns - stamp_ns : 0;
    if (ahead_ns > subject->course.gap_max_ns) {
        subject->cut += ahead_ns - subject->course.gap_max_ns;
        subject->log.gaps++;
    }
    subject->log.backward += back_ns != 0;
    subject->latest_ns += ahead_ns;
    const wide position = (wide)stamp_ns - (wide)subject->first_ns - subject->cut;
    prop_note(subject->prop, "stamp %" PRIu64 ", due %" PRIu64, stamp_ns, due_ns);
    prop_check(subject->prop, due_ns == UINT64_MAX || is_played(subject, due_ns, position), "early");
    prop_check(subject->prop, due_ns == 0 || !is_played(subject, due_ns - 1, position), "late");
    const struct record_log *log = &subject->course.log;
    prop_check(subject->prop, log->gaps == subject->log.gaps && log->cut_ns == (uint64_t)subject->cut, "gaps");
    prop_check(subject->prop, log->backward == subject->log.backward && log->backward_max_ns >= back_ns, "backward");
    prop_check(subject->prop, log->span_ns == subject->latest_ns - subject->first_ns, "span");
    prop_step(subject->prop);
}

static void property(struct prop *prop)
{
    struct subject subject = {.prop = prop, .course = {.gap_max_ns = UINT64_MAX}};
    pick_speed(&subject);
    if (prop_chance(prop, 2)) subject.course.gap_max_ns = prop_pick_size(prop, 1000 * SECOND);
    subject.began_ns = prop_pick_size(prop, END_NS);
    subject.first_ns = subject.latest_ns = prop_pick_size(prop, END_NS);
    check_line(&subject, subject.first_ns);
    while (prop_more(prop, LINES_MEAN)) check_line(&subject, pick_stamp(&subject));
}

PROPERTY("at", property, 20000);
