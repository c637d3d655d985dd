// The metrics of the invariants: two series for each, the same in each worker process.
import type { Registry } from 'prom-client';
import type { Breach } from '../../platform/database/breach.ts';
import { createGauges } from '../../platform/metrics/gauges.ts';
import type { Standing } from './invariant.ts';

/** @param options.read reads all; an invariant that could not be read has no series */
export function registerInvariantMetrics(options: {
  registry: Registry;
  read: () => Promise<readonly Standing[]>;
}): void {
  const define = createGauges(options);
  const gauge = (name: string, help: string, value: (breach: Breach) => number) =>
    define(
      { name: `countersign_invariant_${name}`, help, labelNames: ['invariant', 'severity'] },
      (standings) =>
        standings.map(({ name: invariant, severity, breach }) => [
          { invariant, severity },
          breach === undefined ? null : value(breach),
        ]),
    );
  gauge('breaches', 'Rows that break an invariant of the service, at most 100,000.', ({ count }) => count);
  gauge(
    'age_seconds',
    'Since when the oldest of these rows is wrong; 0 without one.',
    ({ seconds }) => seconds,
  );
  define(
    {
      name: 'countersign_invariants_unread',
      help: 'Invariants of which nothing is known: their statement failed.',
    },
    (standings) => [[{}, standings.filter(({ breach }) => breach === undefined).length]],
  );
}
