// The tables of streams.
import {
  defineTable,
  given,
  nullable,
  primaryKey,
  text,
  texts,
  uuid,
} from '../../platform/database/table.ts';

export const STREAM = defineTable('streams', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  receiver: text(),
  method: text(),
  eventsRequested: nullable(texts()),
  status: given(text()),
  reason: nullable(text()),
});

export const STREAM_EXCLUSION = defineTable('stream_exclusions', {
  streamId: primaryKey(uuid()),
  agentId: primaryKey(uuid()),
});
