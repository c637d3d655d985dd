// Relays: the processes that may claim rows of the outbox, and when each was alive last.
import { bigint, defineTable, given, primaryKey, text, time, uuid } from '../../platform/database/table.ts';

export const RELAY = defineTable('relays', {
  instance: primaryKey(uuid()),
  role: text(),
  epoch: bigint(),
  startedAt: given(time()),
  seenAt: given(time()),
});
