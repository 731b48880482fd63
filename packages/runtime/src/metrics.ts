import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  counter<Label extends string>(name: string, help: string, labels: readonly Label[]): Counter<Label>;
  /** `collect` sets it whenever the metrics are read. */
  gauge<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    collect?: (gauge: Gauge<Label>) => Promise<void>,
  ): Gauge<Label>;
  /** A histogram in seconds, with buckets from 1 ms to 60 s. */
  seconds<Label extends string>(name: string, help: string, labels: readonly Label[]): Histogram<Label>;
}

/** Gauges of the library that hold the time from one sample of the event loop to the next, so that an idle process seems to lag by it. They are removed. */
const sampledDelays = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** The library takes the samples all the same, and each wakes an idle process; at its 10 ms that was half of what an idle system costs. */
const eventLoopSampleMs = 3_600_000;

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The Prometheus metrics of one process. */
export function createMetrics(service: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopSampleMs });
  for (const name of sampledDelays) registry.removeSingleMetric(`nodejs_eventloop_lag_${name}_seconds`);
  const registers = [registry];
  return {
    registry,
    counter: (name, help, labels) => new Counter({ name, help, labelNames: labels, registers }),
    gauge: (name, help, labels, collect) =>
      new Gauge({
        name,
        help,
        labelNames: labels,
        registers,
        ...(collect && {
          collect() {
            return collect(this);
          },
        }),
      }),
    seconds: (name, help, labels) => new Histogram({ name, help, labelNames: labels, buckets: secondsBuckets, registers }),
  };
}
