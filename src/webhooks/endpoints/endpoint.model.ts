// Endpoints: whether attempts may begin at a subscription's receiver, how many, and what it has failed with; and the
// hosts that operators hold.
import {
  bigint,
  boolean,
  defineTable,
  exactTime,
  float,
  given,
  integer,
  nullable,
  primaryKey,
  type RowOf,
  text,
  time,
  uuid,
  uuids,
} from '../../platform/database/table.ts';

export const ENDPOINT = defineTable('endpoints', {
  subscriptionId: primaryKey(uuid()),
  tenantId: uuid(),
  active: given(boolean()),
  deleted: given(boolean()),
  state: given(text<'open' | 'held' | 'down'>()),
  epoch: given(bigint()),
  holdUntil: nullable(time()),
  tenantHeldUntil: nullable(exactTime()),
  hostHeldUntil: nullable(exactTime()),
  failingSince: nullable(time()),
  failuresInARow: given(integer()),
  failingDeliveries: given(uuids()),
  recoveredAt: nullable(time()),
  lastError: nullable(text()),
  probeAt: nullable(time()),
  probeStep: given(integer()),
  permits: nullable(integer()),
  permitsAt: nullable(time()),
  released: given(integer()),
  watched: given(boolean()),
  warned: given(integer()),
  warnedFor: nullable(time()),
  rate: nullable(integer()),
  tokens: given(float()),
  tokensAt: given(exactTime()),
  inFlightCap: given(integer()),
  p90Ms: nullable(integer()),
  updatedAt: given(time()),
});

export type EndpointColumns = RowOf<typeof ENDPOINT>;

/** The columns that a failed attempt changes. */
export const HEALTH_COLUMNS = [
  'state',
  'failuresInARow',
  'failingSince',
  'failingDeliveries',
  'holdUntil',
  'probeStep',
  'probeAt',
  'permits',
  'released',
  'epoch',
  'watched',
] as const;

export const HOST_HOLD = defineTable('host_holds', {
  host: primaryKey(text()),
  until: exactTime(),
  reason: text(),
  operator: text(),
  heldAt: given(time()),
});
