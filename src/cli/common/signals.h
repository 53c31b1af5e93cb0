/* SPDX-License-Identifier: MIT
   Ending by a signal that was held back for a while.

   See signals.c. */
#ifndef WEIR_CLI_COMMON_SIGNALS_H
#define WEIR_CLI_COMMON_SIGNALS_H

/* Whoever sent the signal sees that it was this that ended us. */
void signals_die(int number);

#endif
