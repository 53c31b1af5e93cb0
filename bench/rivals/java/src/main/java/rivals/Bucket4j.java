/* SPDX-License-Identifier: MIT
   Io.github.bucket4j, local buckets: lock-free (compare and swap of a copy) or synchronized.

   All read nanoTime (withNanosecondPrecision; its default, the millisecond, could not pace).  To never refuse a bucket
   holds 10^9 permits and gains as many a second; one of a million keys holds 10^6 and gains as many a day, as
   governor's do.  When pacing it begins with one permit and may make up for one second, as Guava's may. */
package rivals;

import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.local.SynchronizationStrategy;
import java.time.Duration;
import java.util.Optional;

final class Bucket4j implements Rival {
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration DAY = Duration.ofDays(1);
    private static final long PERMITS_OF_A_KEY = 1_000_000;

    private final String name;
    private final SynchronizationStrategy strategy;

    Bucket4j(String name, SynchronizationStrategy strategy) {
        this.name = name;
        this.strategy = strategy;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Limiter grant() {
        return new Shared(bucket(A_SECOND_OF_PERMITS, A_SECOND_OF_PERMITS, SECOND));
    }

    @Override
    public Limiter deny() {
        Bucket bucket = bucket(1, 1, DAY);
        bucket.tryConsume(1);
        return new Shared(bucket);
    }

    @Override
    public Limiter pace(long permitsPerSecond) {
        return new Shared(bucket(permitsPerSecond, 1, SECOND));
    }

    @Override
    public Optional<KeyedLimiter> keyed(int keys) {
        return Optional.of(new Keyed(
                new KeyedLimiter.Map<>(keys, () -> bucket(PERMITS_OF_A_KEY, PERMITS_OF_A_KEY, DAY))));
    }

    private Bucket bucket(long capacity, long atFirst, Duration toFill) {
        Bandwidth bandwidth = Bandwidth.builder()
                .capacity(capacity)
                .refillGreedy(capacity, toFill)
                .initialTokens(atFirst)
                .build();
        return Bucket.builder()
                .addLimit(bandwidth)
                .withNanosecondPrecision()
                .withSynchronizationStrategy(strategy)
                .build();
    }

    private record Shared(Bucket bucket) implements Limiter {
        @Override
        public int ask(int calls) {
            int granted = 0;
            for (int call = 0; call < calls; call++) {
                if (bucket.tryConsume(1)) granted++;
            }
            return granted;
        }

        @Override
        public void acquire() {
            bucket.asBlocking().consumeUninterruptibly(1);
        }
    }

    private record Keyed(KeyedLimiter.Map<Bucket> buckets) implements KeyedLimiter {
        @Override
        public int ask(Key[] keys) {
            int granted = 0;
            for (Key key : keys) {
                if (buckets.of(key).tryConsume(1)) granted++;
            }
            return granted;
        }
    }
}
