/* SPDX-License-Identifier: MIT
   Threads that do nothing but wait for one paced limiter: how much of the rate, how late, at what cost.

   The schedule starts at the first grant; grant i, of one counter for all threads, is due i / rate later.  Processor
   time is the whole process's, the limiter's own threads and the garbage collector's too. */
package rivals;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

final class Pace {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    record Figure(double achieved, long middleNs, long p99Ns, double processors) {}

    private final double permitNs;
    private final long ns;
    private final AtomicLong grants = new AtomicLong();
    private Limiter limiter;
    private long start;

    private Pace(long permitsPerSecond, long ns) {
        this.permitNs = (double) TimeUnit.SECONDS.toNanos(1) / permitsPerSecond;
        this.ns = ns;
    }

    static Figure measure(Supplier<Limiter> make, long permitsPerSecond, int threads, long ns) throws Exception {
        Pace pace = new Pace(permitsPerSecond, ns);
        Crew<Lateness> crew = new Crew<>(threads, member -> {
            Lateness lateness = new Lateness();
            return () -> pace.follow(lateness);
        });
        try (Limiter limiter = make.get()) {
            return pace.lead(limiter, crew);
        }
    }

    /** The first permit is taken at once: what a limiter saves while threads start would be a burst. */
    private Figure lead(Limiter limiter, Crew<Lateness> crew) throws Exception {
        this.limiter = limiter;
        limiter.acquire();
        start = System.nanoTime();
        grants.set(1);
        long processorBegin = SYSTEM.getProcessCpuTime();
        crew.start();
        Lateness all = new Lateness();
        all.note(0);
        crew.finish().forEach(all::add);
        double processors = (double) (SYSTEM.getProcessCpuTime() - processorBegin) / (System.nanoTime() - start);
        return new Figure(all.count() * permitNs / ns, all.quantile(0.5), all.quantile(0.99), processors);
    }

    private Lateness follow(Lateness lateness) {
        while (true) {
            limiter.acquire();
            long grant = grants.getAndIncrement();
            long since = System.nanoTime() - start;
            if (since >= ns) return lateness;
            lateness.note(since - (long) (grant * permitNs));
        }
    }
}
