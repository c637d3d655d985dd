// The table of agents' keys.
import type { KeyAlgorithm } from '../../platform/crypto/algorithm.ts';
import {
  bytes,
  defineTable,
  given,
  type NewRowOf,
  nullable,
  primaryKey,
  type RowOf,
  TENANT_ROW,
  text,
  texts,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { KeyState } from './key.ts';

export const AGENT_KEY = defineTable('agent_keys', {
  ...TENANT_ROW,
  agentId: uuid(),
  algorithm: text<KeyAlgorithm>(),
  /** Canonical raw bytes. `fingerprint` is their SHA-256 in lower-case hex. */
  publicKey: bytes(),
  fingerprint: text(),
  aliases: given(texts()),
  jwkThumbprint: nullable(text()),
  label: nullable(text()),
  state: given(text<KeyState>()),
  verifiedAt: nullable(time()),
  deprecatedAt: nullable(time()),
  sunsetAt: nullable(time()),
  revokedAt: nullable(time()),
  revokedReason: nullable(text()),
  lastUsedAt: nullable(time()),
  firstUsedAt: nullable(time()),
});

export type KeyRow = RowOf<typeof AGENT_KEY>;
export type NewKeyRow = NewRowOf<typeof AGENT_KEY>;

export const DIRECTORY_SIGNATURE = defineTable('directory_signatures', {
  keyId: primaryKey(uuid()),
  tenantId: uuid(),
  input: text(),
  signature: bytes(),
  expiresAt: time(),
  createdAt: given(time()),
});
