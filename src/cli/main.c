/* SPDX-License-Identifier: MIT
   main.c - the command `weir`. */
#include <stdio.h>

int main(void)
{
    puts("weir");
    return 0;
}
