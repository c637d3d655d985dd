// Attempts of deliveries: when each began, what it took, and what the receiver answered.
import {
  boolean,
  defineTable,
  given,
  integer,
  json,
  nullable,
  primaryKey,
  type RowOf,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const ATTEMPT = defineTable('attempts', {
  deliveryId: primaryKey(uuid()),
  n: primaryKey(integer()),
  tenantId: uuid(),
  subscriptionId: uuid(),
  generation: integer(),
  probe: given(boolean()),
  startedAt: time(),
  durationMs: integer(),
  phases: given(json<Readonly<Record<string, number | null>>>()),
  statusCode: nullable(integer()),
  outcome: text(),
  error: nullable(text()),
  retryAfterSeconds: nullable(integer()),
  responseExcerpt: nullable(text()),
  recordedAt: given(time()),
});

export type AttemptRow = RowOf<typeof ATTEMPT>;
