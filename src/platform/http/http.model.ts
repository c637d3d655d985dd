// The tables of counts of rate limits, and of answers that a repeated request gets again.
import {
  bigint,
  bytes,
  defineTable,
  given,
  integer,
  json,
  nullable,
  primaryKey,
  text,
  time,
  uuid,
} from '../database/table.ts';

export const RATE_LIMIT = defineTable('rate_limits', {
  key: primaryKey(text()),
  points: given(integer()),
  expire: nullable(bigint()),
});

export const IDEMPOTENCY_KEY = defineTable('idempotency_keys', {
  tenantId: primaryKey(uuid()),
  principal: primaryKey(text()),
  route: primaryKey(text()),
  key: primaryKey(text()),
  requestDigest: bytes(),
  status: integer(),
  headers: json<Readonly<Record<string, string>>>(),
  /** A JSON string: the text of the answer. */
  body: nullable(json<string>()),
  createdAt: given(time()),
});
