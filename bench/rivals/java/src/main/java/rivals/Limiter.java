/* SPDX-License-Identifier: MIT
   One limiter of a rival, as the harness sees it.

   Promises: safe for all threads.  Leaves to others: which limit it has (Rival.java). */
package rivals;

/** The loop over the calls is the rival's own, so that each call site sees one type and can be inlined. */
interface Limiter extends AutoCloseable {
    /** Asks so many times without waiting; returns how often it was granted. */
    int ask(int calls);

    /** Waits for one permit in the limiter's own way. */
    void acquire();

    /** Ends what the limiter runs in the background. */
    @Override
    default void close() {}
}
