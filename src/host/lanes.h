/* SPDX-License-Identifier: MIT
   The wide registers that this processor has and the system keeps, for share/hash_lanes.h. */
#ifndef WEIR_HOST_LANES_H
#define WEIR_HOST_LANES_H

enum { HOST_LANES_NONE, HOST_LANES_AVX2, HOST_LANES_AVX512 };

/* One of these.  Under a hypervisor it takes tens of microseconds: ask once. */
int host_lanes(void);

#endif
