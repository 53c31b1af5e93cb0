/* SPDX-License-Identifier: MIT
   inside.h - the compiled rule inside a plan, for adapters that read its clock or set what no text can say.

   Apart from runner.h, whose `struct limit` is another than the core's. */
#ifndef VECTORS_INSIDE_H
#define VECTORS_INSIDE_H

#include "core/clock.h"
#include "weir/weir.h"

struct rule *inside_rule(weir_plan *plan); /* of its first limit */
const struct rule *inside_rule_const(const weir_plan *plan);

#endif
