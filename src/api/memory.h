/* SPDX-License-Identifier: MIT
   The memory that a plan needs. */
#ifndef WEIR_API_MEMORY_H
#define WEIR_API_MEMORY_H

#include "plan/plan.h"

struct plan_memory api_memory(const weir_plan *plan);

#endif
