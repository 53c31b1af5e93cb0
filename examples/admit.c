/* SPDX-License-Identifier: MIT
   Three calls an hour, for all threads of this program. */
#include <stdio.h>
#include <weir/weir.h>

int main(void)
{
    weir_error error;
    weir_limiter *limiter;
    if (weir_open(&limiter, "3/h", NULL, &error) != 0) {
        fprintf(stderr, "limit, column %d: %s\n", error.column, error.message);
        return 1;
    }
    for (int call = 1; call <= 4; call++) {
        const weir_decision decision = weir_take(limiter, 1);
        if (weir_allowed(decision)) {
            printf("call %d: passes\n", call);
        } else {
            printf("call %d: refused; again in %.0f min\n", call, (double)decision.retry_ns / 60e9);
        }
    }
    weir_close(limiter);
    return 0;
}
