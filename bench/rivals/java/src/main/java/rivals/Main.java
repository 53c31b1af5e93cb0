/* SPDX-License-Identifier: MIT
   Java's limiters on the work of bench/take.c and on pacing; a line for each figure, fields by tabs.

       [--only NAME]... lines                        who, work, threads, million calls a second
       [--only NAME]... pace RATE THREADS SECONDS    who, "pace RATE", threads, achieved of the target, lateness p50 and
                                                     p99 in ns, processor seconds a second
       names                                         the rivals, a line each

   WEIR_SMALL=1 in the environment: short figures, for a test. */
package rivals;

import io.github.bucket4j.local.SynchronizationStrategy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

final class Main {
    private static final String USAGE = "[--only NAME]... lines | pace RATE THREADS SECONDS, or names";
    private static final int[] THREADS = {1, 2, 8, 64};
    private static final int[] THREADS_KEYED = {1, 2};
    private static final int KEYED_SPANS = 5; // as governor's: its keyed figures take five times as long
    private static final long WARM_RATE_MIN = 1_000_000; // enough calls to be compiled
    private static final long RATE_MAX = 1_000_000_000;
    private static final int THREADS_MAX = 1000;
    private static final double SECONDS_MAX = 3600;

    private static final List<Rival> RIVALS = List.of(
            new Guava(),
            new Bucket4j("bucket4j lock-free", SynchronizationStrategy.LOCK_FREE),
            new Bucket4j("bucket4j synchronized", SynchronizationStrategy.SYNCHRONIZED),
            new Resilience4jAtomic(),
            new Resilience4jSemaphore());

    private final Spans spans = "1".equals(System.getenv("WEIR_SMALL")) ? Spans.small() : Spans.full();

    public static void main(String[] arguments) {
        try {
            new Main().run(new ArrayDeque<>(List.of(arguments)));
        } catch (Misuse misuse) {
            System.err.println("rivals/java: " + misuse.getMessage());
            System.exit(2);
        } catch (Exception failure) {
            System.err.println("rivals/java: " + failure);
            System.exit(1);
        }
    }

    private static final class Misuse extends RuntimeException {
        private static final long serialVersionUID = 1;

        Misuse(String what) {
            super(what + "; use: " + USAGE);
        }
    }

    private void run(Deque<String> arguments) throws Exception {
        List<Rival> rivals = chosen(arguments);
        String work = arguments.isEmpty() ? "nothing" : arguments.remove();
        if (work.equals("lines") && arguments.isEmpty()) {
            for (Rival rival : rivals) lines(rival);
            if (rivals == RIVALS) shared("resilience4j bulkhead", "hold", Bulkhead::make, true);
        } else if (work.equals("names") && arguments.isEmpty()) {
            for (Rival rival : rivals) System.out.println(rival.name());
        } else if (work.equals("pace") && arguments.size() == 3) {
            long rate = (long) number("RATE", arguments.remove(), 1, RATE_MAX);
            int threads = (int) number("THREADS", arguments.remove(), 1, THREADS_MAX);
            double seconds = number("SECONDS", arguments.remove(), 1e-6, SECONDS_MAX);
            for (Rival rival : rivals) pace(rival, rate, threads, seconds);
        } else {
            throw new Misuse(work + " with " + arguments.size() + " arguments is no work");
        }
    }

    private static List<Rival> chosen(Deque<String> arguments) {
        List<Rival> rivals = new ArrayList<>();
        while ("--only".equals(arguments.peek())) {
            arguments.remove();
            String name = Optional.ofNullable(arguments.poll()).orElseThrow(() -> new Misuse("--only lacks a NAME"));
            rivals.add(RIVALS.stream()
                    .filter(rival -> rival.name().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new Misuse("no rival is called '" + name + "'")));
        }
        return rivals.isEmpty() ? RIVALS : rivals;
    }

    private static double number(String what, String text, double least, double most) {
        double number;
        try {
            number = Double.parseDouble(text);
        } catch (NumberFormatException notOne) {
            number = Double.NaN;
        }
        if (number >= least && number <= most) return number;
        throw new Misuse(String.format(Locale.ROOT, "%s '%s' is not from %g to %g", what, text, least, most));
    }

    // ---- lines ----

    private void lines(Rival rival) throws Exception {
        shared(rival.name(), "grant", rival::grant, true);
        shared(rival.name(), "deny", rival::deny, false);
        Optional<KeyedLimiter> keyed = rival.keyed(spans.keys());
        if (keyed.isPresent()) keyed(rival, new Keyed(keyed.get(), spans.keys()));
    }

    private void shared(String who, String work, Supplier<Limiter> make, boolean grants) throws Exception {
        for (int threads : THREADS) sharedOnce(make, threads, spans.warmNs() / THREADS.length, grants);
        for (int threads : THREADS) {
            print(who, work, threads, sharedOnce(make, threads, spans.figureNs(), grants));
        }
    }

    /** A new limiter for each: a monitor or a queue that others have fought over is slower for ever after. */
    private static double sharedOnce(Supplier<Limiter> make, int threads, long ns, boolean grants) throws Exception {
        try (Limiter limiter = make.get()) {
            return Shared.measure(limiter, threads, ns, grants);
        }
    }

    /** The map was filled by the same calls, a million of them, which is the other half of getting warm. */
    private void keyed(Rival rival, Keyed keyed) throws Exception {
        for (int threads : THREADS_KEYED) keyed.measure(threads, spans.warmNs() / 2 / THREADS_KEYED.length);
        for (int threads : THREADS_KEYED) {
            print(rival.name(), "keyed", threads, keyed.measure(threads, KEYED_SPANS * spans.figureNs()));
        }
    }

    private static void print(String who, String work, int threads, double millionPerSecond) {
        System.out.printf(Locale.ROOT, "%s\t%s\t%d\t%.3f%n", who, work, threads, millionPerSecond);
    }

    // ---- pace ----

    private void pace(Rival rival, long rate, int threads, double seconds) throws Exception {
        long warmRate = Math.max(rate, WARM_RATE_MIN);
        Pace.measure(() -> rival.pace(warmRate), warmRate, threads, spans.warmNs());
        long ns = Math.round(seconds * TimeUnit.SECONDS.toNanos(1));
        Pace.Figure figure = Pace.measure(() -> rival.pace(rate), rate, threads, ns);
        System.out.printf(Locale.ROOT, "%s\tpace %d\t%d\t%.3f\t%d\t%d\t%.3f%n", rival.name(), rate, threads,
                figure.achieved(), figure.middleNs(), figure.p99Ns(), figure.processors());
    }
}
