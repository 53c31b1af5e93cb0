/* SPDX-License-Identifier: MIT
   Resilience4j's SemaphoreBulkhead of 20: taken and released; where more threads ask, some are refused. */
package rivals;

import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.bulkhead.internal.SemaphoreBulkhead;
import java.time.Duration;

record Bulkhead(SemaphoreBulkhead bulkhead) implements Limiter {
    private static final int AT_ONCE = 20;

    static Bulkhead make() {
        return new Bulkhead(new SemaphoreBulkhead(
                "bulkhead",
                BulkheadConfig.custom()
                        .maxConcurrentCalls(AT_ONCE)
                        .maxWaitDuration(Duration.ZERO)
                        .build()));
    }

    @Override
    public int ask(int calls) {
        for (int call = 0; call < calls; call++) {
            if (bulkhead.tryAcquirePermission()) bulkhead.releasePermission();
        }
        return calls;
    }

    @Override
    public void acquire() {
        bulkhead.acquirePermission();
    }
}
