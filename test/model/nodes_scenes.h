/* SPDX-License-Identifier: MIT
   Which worlds with nodes are explored.

   One without a name is last. */
#ifndef WEIR_TEST_NODES_SCENES_H
#define WEIR_TEST_NODES_SCENES_H

#include "nodes_world.h"

const struct nodes_scene *nodes_scenes(void);

#endif
