// The tables of challenges: the challenges, the position up to which a sweep has marked and counted the expired ones,
// and how many of each tenant's no audit entry counts yet.
import type { KeyAlgorithm } from '../../platform/crypto/algorithm.ts';
import {
  bigint,
  boolean,
  bytes,
  defineTable,
  given,
  nullable,
  primaryKey,
  type RowOf,
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
  algorithm: text<KeyAlgorithm>(),
  nonce: bytes(),
  audience: text(),
  scopes: texts(),
  tokenAudience: nullable(text()),
  createdAt: time(),
  expiresAt: time(),
  consumedAt: nullable(time()),
  expiredAt: nullable(time()),
});

export type ChallengeRow = RowOf<typeof CHALLENGE>;

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

export type ChallengeExpiryCountRow = RowOf<typeof CHALLENGE_EXPIRY_COUNT>;
