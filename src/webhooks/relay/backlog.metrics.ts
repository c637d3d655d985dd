// What waits between acceptance and an attempt, as a worker's metrics: sums over all tenants, the same in each worker.
import type { Registry } from 'prom-client';
import { createGauges } from '../../metrics/gauges.ts';
import { type Backlog, LANE_STATES, OUTBOX_KINDS } from './backlog.store.ts';

/** @param options.read undefined while the database says nothing: the gauges are not there then */
export function registerBacklogMetrics({
  registry,
  read,
}: {
  registry: Registry;
  read: () => Promise<Backlog | undefined>;
}): void {
  const define = createGauges({ registry, read });
  define(
    {
      name: 'countersign_outbox_rows',
      help: 'Rows that wait to be handed over to an attempt or a workflow, by kind; those of closed lanes too.',
      labelNames: ['kind'],
    },
    ({ rows }) => OUTBOX_KINDS.map((kind) => [{ kind }, rows.find((row) => row.kind === kind)?.count ?? 0]),
  );
  define(
    {
      name: 'countersign_relay_lag_seconds',
      help: 'Age of the oldest row that a relay could take. "healthy": of lanes that take all they are given; "other": of lanes that are slow, failing or limited; "command": retries and cancellations.',
      labelNames: ['lanes'],
    },
    ({ healthyLag, otherLag, commandLag }) => [
      [{ lanes: 'healthy' }, healthyLag ?? 0],
      [{ lanes: 'other' }, otherLag ?? 0],
      [{ lanes: 'command' }, commandLag ?? 0],
    ],
  );
  define(
    {
      name: 'countersign_lanes',
      help: 'Subscriptions by the state of their lane.',
      labelNames: ['state'],
    },
    ({ lanes }) =>
      LANE_STATES.map((state) => [{ state }, lanes.find((row) => row.state === state)?.count ?? 0]),
  );
  define(
    {
      name: 'countersign_deliveries_overdue',
      help: 'Deliveries with a workflow whose next attempt is late by more than 60 s; at most 100,000 are counted.',
    },
    ({ late }) => [[{}, late]],
  );
  define(
    {
      name: 'countersign_deliveries_overdue_seconds',
      help: 'By how much the most overdue of these deliveries is late; 0 when none is.',
    },
    ({ latest }) => [[{}, latest ?? 0]],
  );
  define(
    { name: 'countersign_relays', help: 'Relays that have shown within 5 s that they live: one a worker.' },
    ({ relays }) => [[{}, relays]],
  );
}
