/* SPDX-License-Identifier: MIT
   Writes numbers.  One that does not fit is left out whole. */
#include "format/bytes.h"

char *digits_before(char *end, uint64_t number)
{
    static const char pairs[] = "00010203040506070809"
                                "10111213141516171819"
                                "20212223242526272829"
                                "30313233343536373839"
                                "40414243444546474849"
                                "50515253545556575859"
                                "60616263646566676869"
                                "70717273747576777879"
                                "80818283848586878889"
                                "90919293949596979899";
    for (; number >= 100; number /= 100) memcpy(end -= 2, pairs + 2 * (number % 100), 2);
    if (number >= 10) memcpy(end -= 2, pairs + 2 * number, 2);
    else *--end = (char)('0' + number);
    return end;
}

void bytes_number(struct bytes *bytes, uint64_t number)
{
    char digits[BYTES_NUMBER_MAX];
    char *end = digits + sizeof digits;
    bytes_add(bytes, slice_between(digits_before(end, number), end));
}
