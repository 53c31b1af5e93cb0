/* SPDX-License-Identifier: MIT
   Whether the processor has the registers that share/hash/hash_lanes.h wants. */
#ifndef WEIR_HOST_LANES_H
#define WEIR_HOST_LANES_H

#include <stdbool.h>

/* True if there is AVX-512 and the system keeps its registers.  Under a hypervisor it takes tens of microseconds: ask
   once. */
bool host_has_lanes(void);

#endif
