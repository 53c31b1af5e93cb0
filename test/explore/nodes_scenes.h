/* SPDX-License-Identifier: MIT
   nodes_scenes.h - which worlds with nodes are explored.

   May touch: nothing, it is numbers.  Promises: one without a name is last.  Leaves to others: exploring them. */
#ifndef WEIR_TEST_NODES_SCENES_H
#define WEIR_TEST_NODES_SCENES_H

#include "nodes_model.h"

const struct nodes_scene *nodes_scenes(void);

#endif
