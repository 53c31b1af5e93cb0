/* SPDX-License-Identifier: MIT
   What every rival offers: a new limiter for each figure, with the limit that the work needs.

   Promises: no state is shared between two limiters.  Leaves to others: threads and clocks (Shared, Keyed, Pace). */
package rivals;

import java.util.Optional;

interface Rival {
    int A_SECOND_OF_PERMITS = 1_000_000_000; // more than any of them can be asked for in a second

    String name();

    /** Never refuses. */
    Limiter grant();

    /** Always refuses: one permit a day, and it is taken. */
    Limiter deny();

    /** Paces its callers. */
    Limiter pace(long permitsPerSecond);

    /** A limiter for each key, none of which refuses; empty where nobody would keep a million of them. */
    default Optional<KeyedLimiter> keyed(int keys) {
        return Optional.empty();
    }
}
