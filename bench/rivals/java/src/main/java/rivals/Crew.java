/* SPDX-License-Identifier: MIT
   Threads that begin together and are told when to end.

   Promises: start() returns once all are there; what a member throws, finish() throws. */
package rivals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

final class Crew<T> {
    private final ExecutorService threads;
    private final CyclicBarrier ready;
    private final List<Future<T>> members = new ArrayList<>();

    /** Each member's work: what it does before the start (by the function) and after it (by the Callable). */
    Crew(int size, IntFunction<Callable<T>> work) {
        threads = Executors.newFixedThreadPool(size);
        ready = new CyclicBarrier(size + 1);
        for (int member = 0; member < size; member++) {
            int number = member;
            members.add(threads.submit(() -> {
                Callable<T> rest = work.apply(number);
                ready.await();
                return rest.call();
            }));
        }
    }

    void start() throws InterruptedException, BrokenBarrierException {
        ready.await();
    }

    List<T> finish() throws InterruptedException, ExecutionException {
        threads.shutdown();
        List<T> results = new ArrayList<>();
        for (Future<T> member : members) results.add(member.get());
        threads.awaitTermination(1, TimeUnit.MINUTES);
        return results;
    }
}
