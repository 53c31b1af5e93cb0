/* SPDX-License-Identifier: MIT
   A limiter for each key, in the map that a Java program would use.

   Promises: a key that is known costs one lookup without a lock.  Leaves to others: the limiter (a rival's). */
package rivals;

import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

interface KeyedLimiter {
    /** Asks once for each of these keys; returns how many were granted. */
    int ask(Key[] keys);

    final class Map<L> {
        private final ConcurrentHashMap<Key, L> limiters;
        private final Supplier<L> make;

        Map(int keys, Supplier<L> make) {
            limiters = new ConcurrentHashMap<>(keys);
            this.make = make;
        }

        /** computeIfAbsent alone would lock the bin whenever the key is not the first in it. */
        L of(Key key) {
            L known = limiters.get(key);
            return known != null ? known : limiters.computeIfAbsent(key, unused -> make.get());
        }
    }
}
