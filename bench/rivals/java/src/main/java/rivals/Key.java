/* SPDX-License-Identifier: MIT
   A key of 8 to 16 bytes, made as in ../governor/src/main.rs.

   Promises: equal numbers give equal keys.  Leaves to others: where it is kept. */
package rivals;

/**
 * The bytes are in place, as in governor's, so that the map follows no pointer to compare them (a String has one).  The
 * hash is not cached: ConcurrentHashMap asks for it once a call and keeps it in its node.
 */
record Key(long first, long second, int size) {
    private static final int SIZE_MIN = 8;
    private static final int SIZES = 9;

    static Key of(long number) {
        long first = mix(number + 1);
        long second = mix(~number);
        int size = SIZE_MIN + (int) Long.remainderUnsigned(second, SIZES);
        int unused = Long.SIZE - (size - SIZE_MIN) * Byte.SIZE; // bits of second; equal keys are equal bytes
        return new Key(first, unused == Long.SIZE ? 0 : second << unused >>> unused, size);
    }

    @Override
    public int hashCode() {
        long sum = first * 31 + second;
        return (int) (sum ^ sum >>> Integer.SIZE) + size;
    }

    private static long mix(long number) {
        number = (number ^ number >>> 30) * 0xbf58476d1ce4e5b9L;
        number = (number ^ number >>> 27) * 0x94d049bb133111ebL;
        return number ^ number >>> 31;
    }
}
