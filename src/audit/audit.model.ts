// The tables of the audit log: its rows, the checkpoints and seals over them with the head and the beginning of their
// chain, the public keys that verify them, and the certificates of erased tenants. `xid`: the transaction of a row.
import {
  bigint,
  bigints,
  boolean,
  byteStrings,
  bytes,
  defineTable,
  given,
  integer,
  json,
  nullable,
  primaryKey,
  type RowOf,
  text,
  time,
  transactionId,
  uuid,
  uuids,
} from '../platform/database/table.ts';
import type { AuditEntry } from './audit.ts';

export const AUDIT_LOG = defineTable('audit_log', {
  id: primaryKey(uuid()),
  tenantId: primaryKey(uuid()),
  occurredAt: given(time()),
  action: text(),
  outcome: text<AuditEntry['outcome']>(),
  reason: nullable(text()),
  actorKind: text(),
  actorId: nullable(text()),
  targetType: nullable(text()),
  targetId: nullable(text()),
  keyId: nullable(uuid()),
  tokenId: nullable(text()),
  address: nullable(text()),
  requestId: nullable(text()),
  data: given(json<Readonly<Record<string, unknown>>>()),
  xid: given(transactionId()),
  clientAddress: nullable(text()),
  addressSalt: nullable(uuid()),
});

export type AuditLogRow = RowOf<typeof AUDIT_LOG>;

export const AUDIT_HEAD = defineTable('audit_head', {
  onlyOne: primaryKey(given(boolean())),
  n: bigint(),
  hash: bytes(),
  lastXid: transactionId(),
  lastId: uuid(),
  keyId: nullable(text()),
  signature: nullable(bytes()),
});

export const AUDIT_BEGINNING = defineTable('audit_beginning', {
  onlyOne: primaryKey(given(boolean())),
  id: given(uuid()),
  beganAt: nullable(time()),
  keyId: nullable(text()),
  signature: nullable(bytes()),
});

export type AuditBeginningRow = RowOf<typeof AUDIT_BEGINNING>;

export const AUDIT_CHECKPOINT = defineTable('audit_checkpoints', {
  tenantId: primaryKey(uuid()),
  n: primaryKey(bigint()),
  seal: bigint(),
  count: integer(),
  treeSize: bigint(),
  root: bytes(),
  previous: bytes(),
  firstXid: transactionId(),
  firstId: uuid(),
  lastXid: transactionId(),
  lastId: uuid(),
  sealedAt: time(),
  keyId: text(),
  signature: bytes(),
  rowIds: uuids(),
  leaves: bytes(),
  peaks: bytes(),
  nodes: bytes(),
});

export const AUDIT_SEAL = defineTable('audit_seals', {
  n: primaryKey(bigint()),
  previous: bytes(),
  count: integer(),
  lastXid: transactionId(),
  lastId: uuid(),
  tenants: uuids(),
  numbers: bigints(),
  hashes: byteStrings(),
  sealedAt: time(),
  keyId: text(),
  signature: bytes(),
});

export const AUDIT_SIGNING_KEY = defineTable('audit_signing_keys', {
  id: primaryKey(text()),
  publicKey: bytes(),
  createdAt: given(time()),
});

export type AuditSigningKeyRow = RowOf<typeof AUDIT_SIGNING_KEY>;

export const AUDIT_ERASURE = defineTable('audit_erasures', {
  tenantId: primaryKey(uuid()),
  slug: text(),
  erasedAt: time(),
  statement: text(),
  keyId: text(),
  signature: bytes(),
});

export type AuditErasureRow = RowOf<typeof AUDIT_ERASURE>;
