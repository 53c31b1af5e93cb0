/* SPDX-License-Identifier: MIT
   A histogram of times that may be negative (early): two of HdrHistogram's.

   Promises: three digits, up to one hour either way, beyond which an hour is noted.  One thread each; add() merges. */
package rivals;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

final class Lateness {
    private static final long MOST_NS = TimeUnit.HOURS.toNanos(1);
    private static final int DIGITS = 3;

    private final Histogram late = new Histogram(MOST_NS, DIGITS);
    private final Histogram early = new Histogram(MOST_NS, DIGITS);

    void note(long ns) {
        if (ns < 0) {
            early.recordValue(Math.min(-ns, MOST_NS));
        } else {
            late.recordValue(Math.min(ns, MOST_NS));
        }
    }

    void add(Lateness other) {
        late.add(other.late);
        early.add(other.early);
    }

    long count() {
        return early.getTotalCount() + late.getTotalCount();
    }

    /** The least lateness that is not exceeded in this part of all, 0 to 1. */
    long quantile(double part) {
        double rank = Math.max(1, Math.ceil(part * count()));
        long before = early.getTotalCount();
        if (rank <= before) return -early.getValueAtPercentile(100 * (before - rank + 1) / before);
        return late.getValueAtPercentile(100 * (rank - before) / late.getTotalCount());
    }
}
