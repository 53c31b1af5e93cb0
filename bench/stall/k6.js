// SPDX-License-Identifier: MIT
// The same load by k6: an open model, with as many virtual users as the others have connections.
import http from 'k6/http';

export const options = {
  summaryTrendStats: ['p(50)', 'p(99)', 'max'],
  scenarios: {
    stall: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS}s`,
      gracefulStop: '5s',
      preAllocatedVUs: Number(__ENV.CONNECTIONS),
      maxVUs: Number(__ENV.CONNECTIONS),
    },
  },
};

export default function () {
  http.get(`http://127.0.0.1:${__ENV.PORT}/`);
}

export function handleSummary(data) {
  const took = data.metrics.http_req_duration.values;
  const dropped = data.metrics.dropped_iterations ? data.metrics.dropped_iterations.values.count : 0;
  const ms = ['p(50)', 'p(99)', 'max'].map((name) => took[name].toFixed(1));
  return { stdout: [data.metrics.http_reqs.values.count, dropped, ...ms].join('\t') + '\n' };
}
