// Schemas of the audit log and its checkpoints in requests and answers.
import { z } from 'zod';
import { encodeBase64, encodeBase64Url } from '../platform/crypto/base64.ts';
import { canonicalAddress } from '../platform/egress/address-rules.ts';
import { pageSchema } from '../platform/http/answers.ts';
import { moment, pageParameters } from '../platform/http/field-schemas.ts';
import { present } from '../platform/http/present.ts';
import { ACTOR_KINDS } from './audit.ts';
import type { ConsistencyProof, InclusionProof } from './audit-proof.service.ts';
import type { CheckpointPage, NotedCheckpoint } from './audit-reading.service.ts';
import { type ActorHour, MOST_OF_HOUR } from './audit-reading.store.ts';
import { checkpointStatement } from './checkpoint.ts';
import type { ReadRecord } from './named-users.service.ts';

const OUTCOMES = ['success', 'failure'] as const;

const timestamp = z.iso.datetime();

const exact = z.string().min(1).max(255);

export const auditLogListQuery = z.object({
  action: exact.optional().meta({ description: 'The whole action, exactly: agent.created' }),
  tokens: z.enum(['true', 'false']).optional().meta({
    description: '`false` leaves out what each sign-in writes: auth.login.success, auth.token.issued.',
  }),
  outcome: z.enum(OUTCOMES).optional(),
  actor_kind: z.enum(ACTOR_KINDS).optional(),
  actor_id: exact.optional(),
  target_type: exact.optional(),
  target_id: exact.optional(),
  key_id: z.uuid().optional(),
  token_id: exact.optional().meta({ description: 'The jti of a token.' }),
  request_id: exact.optional(),
  address: exact
    .overwrite((text) => canonicalAddress(text) ?? text)
    .optional()
    .meta({
      description:
        'The address that the request came from. A page may have fewer entries than `limit`, or none, and a `next_cursor`: addresses in entries about users are compared when they are opened, 200 a request.',
    }),
  since: moment.optional().meta({ description: 'Occurred at this time or later.' }),
  until: moment.optional().meta({ description: 'Occurred before this time.' }),
  ...pageParameters,
});

export const auditLogParams = z.object({ id: z.uuid() });

export const auditLogSchema = z
  .object({
    id: z.uuid(),
    occurred_at: timestamp,
    action: z.string(),
    outcome: z.enum(OUTCOMES),
    reason: z.string().nullable().meta({ description: 'The error code of a failure.' }),
    actor: z.object({ kind: z.string(), id: z.string().nullable() }),
    target: z.object({ type: z.string(), id: z.string() }).nullable(),
    key_id: z.uuid().nullable(),
    token_id: z.string().nullable(),
    address: z.string().nullable(),
    request_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
    user: z
      .object({ id: z.string(), issuer: z.string().nullable(), sub: z.string().nullable() })
      .nullable()
      .meta({
        description:
          'Whom an agent acts for. Without `issuer` and `sub` the user is forgotten, and the address is `forgotten`.',
      }),
  })
  .meta({ id: 'AuditLog' });

export const auditLogListSchema = pageSchema(auditLogSchema, 'AuditLogList');

export const auditHoursQuery = z.object({ actor_id: exact });

const numbers = z.array(z.int().min(0));

export const auditHoursSchema = z
  .object({
    hours: z.array(timestamp).meta({ description: 'When each of the 24 hours begins, the oldest first.' }),
    tokens: numbers.meta({ description: 'Tokens that were issued to the actor in each of the hours.' }),
    failures: numbers,
    most: z.int().meta({
      description: 'Entries of an hour that are counted; an hour with more has at least these numbers.',
    }),
  })
  .meta({ id: 'AuditHours' });

export const checkpointListQuery = z.object({
  ...pageParameters,
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'is not a cursor that this list gave')
    .transform(Number)
    .optional()
    .meta({ description: 'The `next_cursor` of the page before; absent for the first.' }),
});

/** A signed checkpoint. A copy that is stored outside the service can prove later that the log was changed. */
const checkpointSchema = z
  .object({
    number: z.int().min(1).meta({ description: "Number in the tenant's chain, from 1, without gaps." }),
    count: z.int().min(1).meta({ description: 'Rows in it.' }),
    tree_size: z.int().min(1).meta({ description: 'Leaves of the tree: rows in it and in all before it.' }),
    root: z.string().meta({ description: "Root of the tenant's tree (RFC 6962), hexadecimal." }),
    previous: z
      .string()
      .meta({ description: 'SHA-256 of the statement before, hexadecimal; zeros in the first.' }),
    first_id: z.uuid(),
    last_id: z.uuid(),
    sealed_at: z.string(),
    key_id: z.string(),
    statement: z.string().meta({ description: 'The text that is signed.' }),
    signature: z.string().meta({ description: "Ed25519 over the statement's UTF-8, base64url." }),
    note: z.string().nullable().meta({
      description: 'Statement and signature as a C2SP tlog-checkpoint; null where its key is gone.',
    }),
  })
  .meta({ id: 'AuditCheckpoint' });

export const checkpointListSchema = z
  .object({
    data: z.array(checkpointSchema),
    next_cursor: z.string().nullable(),
    keys: z
      .array(
        z.object({
          kty: z.literal('OKP'),
          crv: z.literal('Ed25519'),
          x: z.string(),
          kid: z.string(),
          alg: z.literal('EdDSA'),
          use: z.literal('sig'),
        }),
      )
      .meta({ description: 'Public keys that have signed checkpoints (RFC 8037).' }),
    note_keys: z
      .array(z.string())
      .meta({ description: 'The same keys as they verify notes (C2SP signed-note): name, id, key.' }),
  })
  .meta({ id: 'AuditCheckpointList' });

const treeSize = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'is not a tree size')
  .transform(Number);

const hashes = z
  .array(z.string())
  .meta({ description: 'SHA-256 hashes of the proof (RFC 6962, section 2.1), base64, in their order.' });

export const inclusionProofQuery = z.object({
  tree_size: treeSize.optional().meta({ description: 'That of a checkpoint; absent for the newest.' }),
});

export const inclusionProofSchema = z
  .object({
    index: z.int().min(0).meta({ description: 'Number of the leaf, from 0.' }),
    tree_size: z.int().min(1),
    entry: z
      .string()
      .meta({ description: 'The bytes that the leaf is the hash of, base64: /docs/guides/audit-log.' }),
    address_salt: z.uuid().nullable().meta({
      description:
        'The address in the entry is `sha256:` and the hexadecimal SHA-256 of these 16 bytes and the address of the record; null where that was removed.',
    }),
    leaf_hash: z.string().meta({ description: 'SHA-256 of a zero byte and the entry, base64.' }),
    hashes,
    note: z.string().meta({ description: 'The checkpoint of the tree: a C2SP tlog-checkpoint.' }),
    proof: z.string().meta({ description: 'Index, hashes and note as one C2SP tlog-proof.' }),
  })
  .meta({ id: 'AuditInclusionProof' });

export const consistencyProofQuery = z.object({
  from: treeSize.meta({ description: 'Size of the tree that was seen earlier.' }),
  to: treeSize.optional().meta({
    description: 'Size of the later tree, that of a checkpoint; absent for the newest.',
  }),
});

export const consistencyProofSchema = z
  .object({
    from: z.int().min(1),
    to: z.int().min(1),
    hashes,
    note: z.string().meta({ description: 'The checkpoint of the later tree: a C2SP tlog-checkpoint.' }),
  })
  .meta({ id: 'AuditConsistencyProof' });

/** Converts a row of the log to its JSON answer. */
export function presentAuditLog(record: ReadRecord) {
  const { targetType: type, targetId: id } = record;
  return present(auditLogSchema, record, {
    actor: { kind: record.actorKind, id: record.actorId },
    target: type === null || id === null ? null : { type, id },
  });
}

/** Converts the hours of an actor to their JSON answer. */
export function presentHours(found: readonly ActorHour[]) {
  return present(auditHoursSchema, {
    hours: found.map(({ hour }) => hour),
    tokens: found.map(({ tokens }) => tokens),
    failures: found.map(({ failures }) => failures),
    most: MOST_OF_HOUR,
  });
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function presentCheckpoint(checkpoint: NotedCheckpoint) {
  return present(checkpointSchema, checkpoint, {
    number: checkpoint.n,
    root: hex(checkpoint.root),
    previous: hex(checkpoint.previous),
    first_id: checkpoint.first.id,
    last_id: checkpoint.last.id,
    statement: checkpointStatement(checkpoint),
    signature: encodeBase64Url(checkpoint.signature),
    note: checkpoint.note ?? null,
  });
}

/** Converts a page of checkpoints, and the keys that verify them, to the JSON answer. */
export function presentCheckpoints(found: CheckpointPage) {
  return present(checkpointListSchema, found, { data: found.data.map(presentCheckpoint) });
}

/** Converts a proof to its JSON answer. */
export function presentInclusionProof(found: InclusionProof) {
  const path = found.hashes.map(encodeBase64);
  const lines = ['c2sp.org/tlog-proof@v1', `index ${found.index}`, ...path];
  return present(inclusionProofSchema, found, {
    entry: encodeBase64(found.entry),
    leaf_hash: encodeBase64(found.leafHash),
    hashes: path,
    proof: `${lines.join('\n')}\n\n${found.note}`,
  });
}

/** Converts a proof to its JSON answer. */
export function presentConsistencyProof(found: ConsistencyProof) {
  return present(consistencyProofSchema, found, { hashes: found.hashes.map(encodeBase64) });
}
