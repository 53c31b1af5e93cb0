/* SPDX-License-Identifier: MIT
   How long a figure takes, and what is done before it counts.

   A JVM compiles what it has seen often: each work is done for warmNs, at the thread counts it is measured with and on
   limiters of its own, before its first figure.  Small: half a millisecond each, for a test. */
package rivals;

import java.util.concurrent.TimeUnit;

record Spans(long warmNs, long figureNs, int keys) {
    private static final long SMALL_NS = TimeUnit.MICROSECONDS.toNanos(500);

    static Spans full() {
        return new Spans(TimeUnit.SECONDS.toNanos(2), TimeUnit.MILLISECONDS.toNanos(100), 1_000_000);
    }

    static Spans small() {
        return new Spans(SMALL_NS, SMALL_NS, 10_000);
    }
}
