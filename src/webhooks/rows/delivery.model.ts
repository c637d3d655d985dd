// Deliveries; those that wait in the crowd of their endpoint; and the outbox, which is work for relays.
import {
  bigint,
  boolean,
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  type RowOf,
  smallint,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { StoredStatus } from '../deliveries/delivery.ts';

export const CROWDED_DELIVERY = defineTable('crowded_deliveries', {
  deliveryId: primaryKey(uuid()),
  tenantId: uuid(),
  subscriptionId: uuid(),
  generation: integer(),
  dueAt: time(),
});

export const DELIVERY = defineTable('deliveries', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  subscriptionId: uuid(),
  eventRow: uuid(),
  eventId: text(),
  eventType: text(),
  test: given(boolean()),
  status: given(text<StoredStatus>()),
  generation: given(integer()),
  startedGeneration: nullable(integer()),
  attemptCount: given(integer()),
  failedAttempts: given(integer()),
  nextAttemptAt: nullable(time()),
  needsWorkflow: given(boolean()),
  waitingEpoch: nullable(bigint()),
  retryRequestedAt: nullable(time()),
  lastStatusCode: nullable(integer()),
  lastError: nullable(text()),
  trace: nullable(text()),
  createdAt: given(time()),
  completedAt: nullable(time()),
});

export type DeliveryRow = RowOf<typeof DELIVERY>;

export const OUTBOX = defineTable('outbox', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  endpoint: uuid(),
  deliveryId: uuid(),
  generation: given(integer()),
  kind: text<'first' | 'wake' | 'start' | 'command'>(),
  command: nullable(text<'retry' | 'cancel'>()),
  rank: given(smallint()),
  claimedBy: nullable(uuid()),
  claimEpoch: nullable(bigint()),
  createdAt: given(time()),
});
