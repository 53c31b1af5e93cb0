/* SPDX-License-Identifier: MIT
   The least that a user of an installed weir writes. */
#include <stdio.h>
#include <weir/weir.h>

int main(void)
{
    weir_plan plan;
    weir_state state = {{0}};
    if (weir_plan_parse(&plan, "10/s", WEIR_ADMIT, NULL) != 0) return 1;
    const weir_decision decision = weir_decide(&plan, &state, (weir_instant){1000}, 1);
    printf("%s %s\n", weir_version(), weir_allowed(decision) ? "allow" : "refuse");
    return 0;
}
