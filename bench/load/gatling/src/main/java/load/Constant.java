// SPDX-License-Identifier: MIT
package load;

import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;

import io.gatling.javaapi.core.Simulation;
import java.time.Duration;

/** The same load by Gatling: an open model, whose users share connections. */
public final class Constant extends Simulation {
    public Constant() {
        double rate = Double.parseDouble(System.getProperty("rate"));
        long ms = (long) (Double.parseDouble(System.getProperty("seconds")) * 1000);
        setUp(scenario("load").exec(http("get").get("/"))
                .injectOpen(constantUsersPerSec(rate).during(Duration.ofMillis(ms))))
            .protocols(http.baseUrl("http://127.0.0.1:" + System.getProperty("port")).shareConnections());
    }
}
