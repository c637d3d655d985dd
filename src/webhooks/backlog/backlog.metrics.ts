// The metrics of the outbox. They are sums over all tenants, the same in each worker process.
import type { Registry } from 'prom-client';
import { createGauges } from '../../platform/metrics/gauges.ts';
import { ENDPOINT_STATES } from '../endpoints/endpoint-state.ts';
import { type EndpointCount, OUTBOX_KINDS, type OutboxCount, type RelayLag } from './backlog.store.ts';

type Read<T> = () => Promise<T | undefined>;

/** @param options.read returns undefined while the database is unreachable; the gauges are then absent */
export function registerBacklogMetrics({
  registry,
  read,
}: {
  registry: Registry;
  read: {
    readonly rows: Read<readonly OutboxCount[]>;
    readonly endpoints: Read<readonly EndpointCount[]>;
    readonly lag: Read<RelayLag>;
    readonly relays: Read<number>;
  };
}): void {
  createGauges({ registry, read: read.rows })(
    {
      name: 'countersign_outbox_rows',
      help: 'Rows that wait to be handed over to an attempt or a workflow, by kind; those of closed endpoints too.',
      labelNames: ['kind'],
    },
    (rows) => OUTBOX_KINDS.map((kind) => [{ kind }, rows.find((row) => row.kind === kind)?.count ?? 0]),
  );
  createGauges({ registry, read: read.lag })(
    {
      name: 'countersign_relay_lag_seconds',
      help: 'Age of the oldest row that a relay could take. "healthy": of endpoints that take all they are given; "other": of endpoints that are slow, failing or limited; "command": retries and cancellations.',
      labelNames: ['endpoints'],
    },
    // Without an unclaimed row the lag is 0 only if all open endpoints were read.
    ({ healthy, other, command, complete }) => [
      [{ endpoints: 'healthy' }, healthy ?? (complete ? 0 : null)],
      [{ endpoints: 'other' }, other ?? (complete ? 0 : null)],
      [{ endpoints: 'command' }, command ?? 0],
    ],
  );
  createGauges({ registry, read: read.endpoints })(
    {
      name: 'countersign_endpoints',
      help: 'Subscriptions by the state of their endpoint.',
      labelNames: ['state'],
    },
    (endpoints) =>
      ENDPOINT_STATES.map((state) => [{ state }, endpoints.find((row) => row.state === state)?.count ?? 0]),
  );
  createGauges({ registry, read: read.relays })(
    { name: 'countersign_relays', help: 'Relays that have shown within 5 s that they live: one a worker.' },
    (relays) => [[{}, relays]],
  );
}
