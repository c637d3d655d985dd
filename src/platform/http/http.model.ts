// The tables of http.
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
  headers: json<unknown>(),
  body: nullable(json<unknown>()),
  createdAt: given(time()),
});
