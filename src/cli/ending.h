/* SPDX-License-Identifier: MIT
   ending.h - ends the process as a signal would have.

   See ending.c. */
#ifndef WEIR_CLI_ENDING_H
#define WEIR_CLI_ENDING_H

/* Whoever sent the signal sees that it was this that ended us.  Does not return. */
void die_of(int number);

#endif
