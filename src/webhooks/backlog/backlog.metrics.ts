// The metrics of the outbox. They are sums over all tenants, the same in each worker process.
import { createGauges } from '../../platform/metrics/gauges.ts';
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { ENDPOINT_STATES } from '../endpoints/endpoint-state.ts';
import * as store from './backlog.store.ts';

/** Registers the gauges. Each scrape reads them; a gauge is absent while the database is unreachable. */
export function registerBacklogMetrics(
  { database, registry }: Pick<Platform, 'database' | 'registry'>,
  createReading: Readings,
): void {
  const read = createReading({
    rows: () => store.countRows(database),
    endpoints: () => store.countEndpoints(database),
    lag: () => store.readLag(database),
    relays: () => store.countRelays(database),
  });
  createGauges({ registry, read: () => read('rows') })(
    {
      name: 'countersign_outbox_rows',
      help: 'Rows that wait to be handed over to an attempt or a workflow, by kind; those of closed endpoints too.',
      labelNames: ['kind'],
    },
    (rows) => store.OUTBOX_KINDS.map((kind) => [{ kind }, rows.find((row) => row.kind === kind)?.count ?? 0]),
  );
  createGauges({ registry, read: () => read('lag') })(
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
  createGauges({ registry, read: () => read('endpoints') })(
    {
      name: 'countersign_endpoints',
      help: 'Subscriptions by the state of their endpoint.',
      labelNames: ['state'],
    },
    (endpoints) =>
      ENDPOINT_STATES.map((state) => [{ state }, endpoints.find((row) => row.state === state)?.count ?? 0]),
  );
  createGauges({ registry, read: () => read('relays') })(
    { name: 'countersign_relays', help: 'Relays that have shown within 5 s that they live: one a worker.' },
    (relays) => [[{}, relays]],
  );
}
