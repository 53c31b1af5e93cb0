/* SPDX-License-Identifier: MIT
   What goes wrong in an hour, and when. */
#ifndef WEIR_TEST_SIMULATE_FAULTS_H
#define WEIR_TEST_SIMULATE_FAULTS_H

#include "simulate/nodes.h"

enum { FAULT_KINDS = 16 };

/* From now on, one every so many ns on average, until then. */
void faults_begin(const struct fleet *fleet, uint64_t every_ns, uint64_t until);

/* So many of each so far. */
const uint64_t *faults_counts(void);
const char *faults_name(unsigned kind);

/* The last ones, a line each. */
void faults_print_last(void);

#endif
