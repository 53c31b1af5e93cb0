/* SPDX-License-Identifier: MIT
   Million calls a second on a million keys, as in ../governor/src/main.rs.

   Threads never share a key; making the keys is not measured; a chunk during which the thread was away (the machine
   gave its core to another, or the heap was swept) is left out.  That adds up threads, so only as many as cores. */
package rivals;

import java.util.List;
import java.util.concurrent.TimeUnit;

final class Keyed {
    private static final int CHUNK = 128;
    private static final long AWAY_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private final KeyedLimiter limiter;
    private final int keys;
    private volatile boolean stop;

    Keyed(KeyedLimiter limiter, int keys) {
        this.limiter = limiter;
        this.keys = keys;
        for (int number = 0; number < keys; number++) {
            if (limiter.ask(new Key[] {Key.of(number)}) != 1) throw new IllegalStateException("a new key is refused");
        }
    }

    double measure(int threads, long ns) throws Exception {
        stop = false;
        Crew<Double> crew = new Crew<>(threads, member -> () -> ask(member, threads));
        crew.start();
        TimeUnit.NANOSECONDS.sleep(ns);
        stop = true;
        List<Double> each = crew.finish();
        return each.stream().mapToDouble(Double::doubleValue).sum();
    }

    /** Million calls a second of one thread on keys first, first + threads, ... */
    private double ask(int first, int threads) {
        Key[] chunk = new Key[CHUNK];
        long place = 0;
        long calls = 0;
        long spent = 0;
        while (calls == 0 || !stop) {
            for (int slot = 0; slot < CHUNK; slot++) {
                chunk[slot] = Key.of(first + place++ % (keys / threads) * threads);
            }
            long begin = System.nanoTime();
            int granted = limiter.ask(chunk);
            long took = System.nanoTime() - begin;
            if (granted != CHUNK) throw new IllegalStateException(granted + " of " + CHUNK + " keys were granted");
            if (took < AWAY_NS || calls == 0) {
                calls += CHUNK;
                spent += took;
            }
        }
        return calls * 1e3 / spent;
    }
}
