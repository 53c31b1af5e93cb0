/* SPDX-License-Identifier: MIT
   Com.google.common.util.concurrent.RateLimiter (SmoothBursty): a monitor around the arithmetic.

   To never refuse it is given 10^9/s: above 10^6/s its interval is less than its unit, the microsecond.  When pacing it
   may make up for one second, its own default. */
package rivals;

import com.google.common.util.concurrent.RateLimiter;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

final class Guava implements Rival {
    @Override
    public String name() {
        return "guava";
    }

    @Override
    public Limiter grant() {
        return new Shared(RateLimiter.create(A_SECOND_OF_PERMITS));
    }

    @Override
    public Limiter deny() {
        RateLimiter limiter = RateLimiter.create(1.0 / TimeUnit.DAYS.toSeconds(1));
        limiter.acquire();
        return new Shared(limiter);
    }

    @Override
    public Limiter pace(long permitsPerSecond) {
        return new Shared(RateLimiter.create(permitsPerSecond));
    }

    @Override
    public Optional<KeyedLimiter> keyed(int keys) {
        return Optional.of(new Keyed(new KeyedLimiter.Map<>(keys, () -> RateLimiter.create(A_SECOND_OF_PERMITS))));
    }

    private record Shared(RateLimiter limiter) implements Limiter {
        @Override
        public int ask(int calls) {
            int granted = 0;
            for (int call = 0; call < calls; call++) {
                if (limiter.tryAcquire()) granted++;
            }
            return granted;
        }

        @Override
        public void acquire() {
            limiter.acquire();
        }
    }

    private record Keyed(KeyedLimiter.Map<RateLimiter> limiters) implements KeyedLimiter {
        @Override
        public int ask(Key[] keys) {
            int granted = 0;
            for (Key key : keys) {
                if (limiters.of(key).tryAcquire()) granted++;
            }
            return granted;
        }
    }
}
