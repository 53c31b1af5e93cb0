/* SPDX-License-Identifier: MIT
   The least that a user of an installed libweir-redis writes; nobody listens on port 1. */
#include <stdio.h>
#include <weir/redis.h>

int main(void)
{
    weir_engine *engine = NULL;
    weir_engine_limit *limit = NULL;
    if (weir_engine_open(&engine, "redis://127.0.0.1:1", NULL, NULL) != 0) return 1;
    if (weir_engine_limit_open(&limit, engine, "10/s", WEIR_AWAY_OPEN, NULL) != 0) return 1;
    const weir_decision decision = weir_engine_take(engine, limit, weir_key_text("user:42"), 1);
    printf("%s %s\n", weir_version(), weir_allowed(decision) ? "allow" : "refuse");
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
    return 0;
}
