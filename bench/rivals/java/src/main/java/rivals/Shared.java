/* SPDX-License-Identifier: MIT
   Million calls a second on one limiter that all threads share, as in ../governor/src/main.rs.

   Promises: every answer is counted; a figure with a wrong answer is an error, not a figure. */
package rivals;

import java.util.List;
import java.util.concurrent.TimeUnit;

final class Shared {
    private static final int CALLS = 1024;

    private final Limiter limiter;
    private volatile boolean stop;

    private record Done(long granted, long calls, long begin, long end) {}

    private Shared(Limiter limiter) {
        this.limiter = limiter;
    }

    static double measure(Limiter limiter, int threads, long ns, boolean grants) throws Exception {
        Shared shared = new Shared(limiter);
        Crew<Done> crew = new Crew<>(threads, member -> shared::ask);
        crew.start();
        TimeUnit.NANOSECONDS.sleep(ns);
        shared.stop = true;
        List<Done> done = crew.finish();
        long calls = done.stream().mapToLong(Done::calls).sum();
        long granted = done.stream().mapToLong(Done::granted).sum();
        if (granted != (grants ? calls : 0)) {
            throw new IllegalStateException(granted + " of " + calls + " calls were granted");
        }
        long begin = done.stream().mapToLong(Done::begin).min().orElseThrow();
        long end = done.stream().mapToLong(Done::end).max().orElseThrow();
        return calls * 1e3 / (end - begin);
    }

    private Done ask() {
        long begin = System.nanoTime();
        long granted = 0;
        long calls = 0;
        do {
            granted += limiter.ask(CALLS);
            calls += CALLS;
        } while (!stop);
        return new Done(granted, calls, begin, System.nanoTime());
    }
}
