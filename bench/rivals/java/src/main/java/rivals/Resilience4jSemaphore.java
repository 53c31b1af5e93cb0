/* SPDX-License-Identifier: MIT
   Resilience4j's SemaphoreBasedRateLimiter: a fair semaphore that a thread fills up. */
package rivals;

import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.SemaphoreBasedRateLimiter;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

final class Resilience4jSemaphore extends Resilience4j {
    @Override
    public String name() {
        return "resilience4j semaphore";
    }

    @Override
    Limiter limiter(RateLimiterConfig config) {
        ScheduledExecutorService filler = Executors.newSingleThreadScheduledExecutor();
        return new Shared(new SemaphoreBasedRateLimiter(name(), config, filler), filler);
    }

    private record Shared(SemaphoreBasedRateLimiter limiter, ScheduledExecutorService filler) implements Limiter {
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

        /** Its shutdown() ends the filling; the thread is ours. */
        @Override
        public void close() {
            limiter.shutdown();
            filler.shutdownNow();
        }
    }
}
