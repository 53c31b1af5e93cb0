/* SPDX-License-Identifier: MIT
   The phases of a profile as text; the grammar is in phases.c. */
#ifndef WEIR_PLAN_PROFILE_PHASES_H
#define WEIR_PLAN_PROFILE_PHASES_H

#include "core/profile.h"
#include "plan/reader.h"
#include "plan/write.h"

/* True at a ramp or a pause, with which a profile may begin. */
bool phases_begin(const struct reader *reader);

/* True where a ramp may be ahead, whose rates may be 0. */
bool phases_may_ramp(const struct reader *reader);

/* True at the word behind a rate with which it is the first phase of a profile. */
bool phases_follow(const struct reader *reader);

/* Reads a profile, up to the end of the text; of its first phase the rate may have been read. */
bool phases_read(struct reader *reader, bool rate_is_read);

/* Can it be kept exactly? */
bool phases_check(struct reader *reader);

/* For a word that is none, behind a rate: true if it was probably meant for a word of a profile; then the error says
   so. */
bool phases_fail_near(struct reader *reader, size_t at, const char *word, size_t size);

/* All phases, without the options; and one of them. */
void phases_write(struct writer *writer, const struct limit *limit);
void phases_write_one(struct writer *writer, const struct limit *limit, unsigned index);

#endif
