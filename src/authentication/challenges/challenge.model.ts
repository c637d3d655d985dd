// The tables of challenges.
import {
  bigint,
  boolean,
  bytes,
  defineTable,
  given,
  nullable,
  primaryKey,
  text,
  texts,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const CHALLENGE = defineTable('challenges', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  agentId: uuid(),
  keyId: uuid(),
  keyFingerprint: text(),
  algorithm: text(),
  nonce: bytes(),
  audience: text(),
  scopes: texts(),
  tokenAudience: nullable(text()),
  createdAt: time(),
  expiresAt: time(),
  consumedAt: nullable(time()),
  expiredAt: nullable(time()),
});

export const CHALLENGE_SWEEP = defineTable('challenge_sweep', {
  onlyRow: primaryKey(given(boolean())),
  sweptUntil: given(time()),
  auditedUntil: given(time()),
  auditingUntil: given(time()),
  auditingAfter: nullable(uuid()),
});

export const CHALLENGE_EXPIRY_COUNT = defineTable('challenge_expiry_counts', {
  tenantId: primaryKey(uuid()),
  expired: bigint(),
});
