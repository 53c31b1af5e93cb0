// SPDX-License-Identifier: MIT
// Peer LOG PERCENTILES: HdrHistogram of Java reads a .hlog.  It prints each interval and the counts of each tag, and
// writes the percentiles of the response times.  peer.py does the same in Python.
import java.io.File;
import java.io.PrintStream;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import org.HdrHistogram.HistogramLogReader;

public class Peer {
    public static void main(String[] arguments) throws Exception {
        Map<String, Histogram> sums = new TreeMap<>();
        HistogramLogReader reader = new HistogramLogReader(new File(arguments[0]));
        while (reader.hasNext()) {
            Histogram interval = (Histogram) reader.nextIntervalHistogram();
            if (interval == null) {
                break;
            }
            String tag = interval.getTag();
            System.out.printf("interval %s %d %d %d%n", tag, interval.getStartTimeStamp(),
                    interval.getEndTimeStamp(), interval.getTotalCount());
            sums.computeIfAbsent(tag, none -> new Histogram(interval)).add(interval);
        }
        for (Map.Entry<String, Histogram> entry : sums.entrySet()) {
            Histogram sum = entry.getValue();
            for (HistogramIterationValue value : sum.recordedValues()) {
                System.out.printf("count %s %d %d%n", entry.getKey(),
                        sum.highestEquivalentValue(value.getValueIteratedTo()), value.getCountAtValueIteratedTo());
            }
        }
        try (PrintStream out = new PrintStream(arguments[1])) {
            sums.get("response").outputPercentileDistribution(out, 5, 1e6);
        }
    }
}
