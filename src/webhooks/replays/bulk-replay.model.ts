// The tables of replays.
import {
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  text,
  time,
  uuid,
  uuids,
} from '../../platform/database/table.ts';

export const BULK_REPLAY = defineTable('bulk_replays', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  subscriptionId: uuid(),
  deliveryStatus: text(),
  since: time(),
  until: time(),
  status: given(text()),
  endReason: nullable(text()),
  matched: integer(),
  replayed: given(integer()),
  nextAfter: given(uuid()),
  createdAt: given(time()),
  completedAt: nullable(time()),
});

export const BULK_REPLAY_PART = defineTable('bulk_replay_parts', {
  replayId: primaryKey(uuid()),
  first: primaryKey(uuid()),
  last: uuid(),
  deliveries: uuids(),
});
