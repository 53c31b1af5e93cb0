// SPDX-License-Identifier: MIT
package rivals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.config.Config;

/** {@code Held URL}: a slot by Redisson, as bench/rivals/held/run orders, a line each. */
final class Held {
    private final RPermitExpirableSemaphore semaphore;
    private long leaseMs;
    private String permit;

    private Held(String url) {
        Config config = new Config().setThreads(1).setNettyThreads(1);
        config.useSingleServer().setAddress(url).setConnectionPoolSize(1).setConnectionMinimumIdleSize(1);
        semaphore = Redisson.create(config).getPermitExpirableSemaphore("job");
    }

    private boolean obey(String[] order) throws InterruptedException {
        return switch (order[0]) {
            case "limit" -> {
                leaseMs = Long.parseLong(order[3].replaceAll("[^0-9]", ""));
                yield semaphore.trySetPermits(Integer.parseInt(order[1]));
            }
            case "take" -> (permit = semaphore.tryAcquire(0, leaseMs, TimeUnit.MILLISECONDS)) != null;
            case "renew" -> semaphore.updateLeaseTime(permit, leaseMs, TimeUnit.MILLISECONDS);
            default -> semaphore.tryRelease(permit);
        };
    }

    public static void main(String[] words) throws IOException, InterruptedException {
        Held held = new Held(words[0]);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(held.obey(line.split(" ")) ? "yes" : "no");
        }
        System.exit(0);
    }
}
