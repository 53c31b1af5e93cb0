/* SPDX-License-Identifier: MIT
   Resilience4j's AtomicRateLimiter: compare and swap of a copy, a denial too. */
package rivals;

import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;

final class Resilience4jAtomic extends Resilience4j {
    @Override
    public String name() {
        return "resilience4j atomic";
    }

    @Override
    Limiter limiter(RateLimiterConfig config) {
        return new Shared(new AtomicRateLimiter(name(), config));
    }

    private record Shared(AtomicRateLimiter limiter) implements Limiter {
        @Override
        public int ask(int calls) {
            int granted = 0;
            for (int call = 0; call < calls; call++) {
                if (limiter.acquirePermission()) granted++;
            }
            return granted;
        }

        @Override
        public void acquire() {
            await(limiter);
        }
    }
}
