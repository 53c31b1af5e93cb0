/* SPDX-License-Identifier: MIT
   What the tests of every algorithm begin with: a text made a plan, and plans walked through by hand.

   Whatever fails says the text of the plan, and ends the test.

   Nothing about any algorithm. */
#ifndef WEIR_TEST_PLANS_H
#define WEIR_TEST_PLANS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "core/algorithm.h"
#include "core/decide.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define YEAR (UINT64_C(31536000) * S)

static inline weir_instant at(uint64_t ns)
{
    return (weir_instant){ns};
}

/* ---- texts ---- */

weir_plan plan_of(const char *text); /* for WEIR_ADMIT */
weir_plan plan_for(const char *text, weir_use use);

/* A text, how weir writes it, and so writes it again, for whatever use it is read. */
struct spelling {
    const char *text, *canonical;
};

#define CHECK_SPELLINGS(rows) check_spellings(rows, LENGTH(rows))
void check_spellings(const struct spelling rows[], size_t count);

/* A text that is refused for whatever use it is read, and what is said of it. */
struct mistake {
    const char *text;
    int column;
    const char *message;
};

#define CHECK_MISTAKES(rows) check_mistakes(rows, LENGTH(rows))
void check_mistakes(const struct mistake rows[], size_t count);

/* ---- facts of the only limit of a plan ---- */

struct facts facts_in(const weir_plan *plan);
void check_facts(const weir_plan *plan, struct facts expected);
uint64_t most_in(const weir_plan *plan, uint64_t window_ns);

/* Rows of a window in ns, and the most that passes in it. */
#define CHECK_MOST_IN(plan, rows) check_most_in(plan, rows, LENGTH(rows))
void check_most_in(const weir_plan *plan, const uint64_t rows[][2], size_t count);

/* ---- what one caller after the other is told ---- */

struct step {
    uint64_t now_ns, cost, wait_ns;
    uint32_t verdict;
    uint64_t delay_ns, retry_ns, remaining;
};

/* From a fresh state on; a call that is refused, or asks for nothing, changes no word of it. */
#define CHECK_STEPS(text, steps) check_steps(text, steps, LENGTH(steps))
void check_steps(const char *text, const struct step steps[], size_t count);

/* A plan of any algorithm whose state is of fixed size, and that state. */
struct subject {
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX];
};

struct subject fresh(const char *text);

weir_decision take(struct subject *subject, uint64_t now_ns, uint64_t cost);
weir_decision take_within(struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t wait_ns);
weir_decision reserve(struct subject *subject, uint64_t now_ns, uint64_t cost); /* waits for ever */
void settle_at(struct subject *subject, uint64_t now_ns, weir_decision *decision, uint64_t actual);

void assert_delay(weir_decision decision, uint64_t delay_ns); /* allowed */
void assert_retry(weir_decision decision, uint64_t retry_ns); /* refused */

/* ---- limiters ---- */

weir_limiter *open_limiter(const char *limits, weir_clock clock, weir_use use);
weir_limiter *open_manual(const char *limits); /* for WEIR_ADMIT; its time is 0 */
void set_ns(weir_limiter *limiter, uint64_t ns);
void change(weir_limiter *limiter, const char *limits, weir_carry carry);

/* A thread that waits in line for one permit. */
struct queued {
    weir_limiter *limiter;
    uint64_t wait_max_ns;
    weir_decision decision;
    pthread_t thread;
};

void queued_start(struct queued *queued);
weir_decision queued_end(struct queued *queued); /* what it was told, once it is back */

#endif
