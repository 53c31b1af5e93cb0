/* SPDX-License-Identifier: MIT
   What its two limiters have in common: the limits, and how they are called.

   A limit is so many permits a cycle.  To never refuse: 10^9 a cycle of one second; to refuse: 1 a day; both with a
   timeout of 0.  To pace: a cycle of one permit, or of 1 ms where that is longer, for what a cycle leaves is lost. */
package rivals;

import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

abstract class Resilience4j implements Rival {
    private static final Duration PATIENCE = Duration.ofHours(1);
    private static final long CYCLES_PER_SECOND_MAX = 1000;

    /** A limiter of this rival's kind. */
    abstract Limiter limiter(RateLimiterConfig config);

    @Override
    public Limiter grant() {
        return limiter(config(A_SECOND_OF_PERMITS, Duration.ofSeconds(1), Duration.ZERO));
    }

    @Override
    public Limiter deny() {
        Limiter limiter = limiter(config(1, Duration.ofDays(1), Duration.ZERO));
        limiter.ask(1);
        return limiter;
    }

    @Override
    public Limiter pace(long permitsPerSecond) {
        long permits = Math.max(1, permitsPerSecond / CYCLES_PER_SECOND_MAX);
        long cycleNs = Math.round((double) permits * TimeUnit.SECONDS.toNanos(1) / permitsPerSecond);
        return limiter(config(Math.toIntExact(permits), Duration.ofNanos(cycleNs), PATIENCE));
    }

    static RateLimiterConfig config(int permits, Duration cycle, Duration timeout) {
        return RateLimiterConfig.custom()
                .limitForPeriod(permits)
                .limitRefreshPeriod(cycle)
                .timeoutDuration(timeout)
                .build();
    }

    static void await(RateLimiter limiter) {
        if (!limiter.acquirePermission()) throw new IllegalStateException("no permit within " + PATIENCE);
    }
}
