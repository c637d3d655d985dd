// Bulk replays, and the parts of each that were replayed: their deliveries and the least and greatest of their ids.
import {
  defineTable,
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
import type { BulkReplayEnd, BulkReplayStatus, ReplayableStatus } from './bulk-replay.ts';

export const BULK_REPLAY = defineTable('bulk_replays', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  subscriptionId: uuid(),
  deliveryStatus: text<ReplayableStatus>(),
  since: time(),
  until: time(),
  status: given(text<BulkReplayStatus>()),
  endReason: nullable(text<BulkReplayEnd>()),
  matched: integer(),
  replayed: given(integer()),
  nextAfter: given(uuid()),
  createdAt: given(time()),
  completedAt: nullable(time()),
});

/** `matched`: deliveries in the range at the beginning. `nextAfter`: id of the last delivery that was handled. */
export type BulkReplayRow = RowOf<typeof BULK_REPLAY>;

export const BULK_REPLAY_PART = defineTable('bulk_replay_parts', {
  replayId: primaryKey(uuid()),
  first: primaryKey(uuid()),
  last: uuid(),
  deliveries: uuids(),
});
