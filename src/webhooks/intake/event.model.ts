// Events as they are kept for the feed, and the ids of published ones, by which repetitions are known.
import {
  boolean,
  bytes,
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  text,
  time,
  transactionId,
  uuid,
} from '../../platform/database/table.ts';

export const EVENT = defineTable('events', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  eventId: text(),
  type: text(),
  occurredAt: time(),
  body: bytes<Buffer>(),
  test: given(boolean()),
  deliveries: nullable(integer()),
  xid: given(transactionId()),
  createdAt: given(time()),
});

export const PUBLISHED_EVENT = defineTable('published_events', {
  tenantId: primaryKey(uuid()),
  eventId: primaryKey(text()),
  id: uuid(),
  digest: bytes<Buffer>(),
  deliveries: integer(),
  createdAt: given(time()),
});
