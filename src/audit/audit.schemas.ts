// Schemas of the audit log and its checkpoints in requests and answers.
import { z } from 'zod';
import { encodeBase64Url } from '../platform/crypto/base64.ts';
import { pageSchema } from '../platform/http/answers.ts';
import { moment, pageParameters } from '../platform/http/field-schemas.ts';
import { present } from '../platform/http/present.ts';
import { ACTOR_KINDS, type AuditLogRecord } from './audit.ts';
import type { CheckpointPage, SignedCheckpoint } from './audit-reading.service.ts';
import { checkpointStatement } from './checkpoint.ts';

const OUTCOMES = ['success', 'failure'] as const;

const timestamp = z.iso.datetime();

const exact = z.string().min(1).max(255);

export const auditLogListQuery = z.object({
  action: exact.optional().meta({ description: 'The whole action, exactly: agent.created' }),
  outcome: z.enum(OUTCOMES).optional(),
  actor_kind: z.enum(ACTOR_KINDS).optional(),
  actor_id: exact.optional(),
  target_type: exact.optional(),
  target_id: exact.optional(),
  key_id: z.uuid().optional(),
  token_id: exact.optional().meta({ description: 'The jti of a token.' }),
  request_id: exact.optional(),
  address: exact.optional().meta({ description: 'The address that the request came from.' }),
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
  })
  .meta({ id: 'AuditLog' });

export const auditLogListSchema = pageSchema(auditLogSchema, 'AuditLogList');

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
    total: z.int().min(1).meta({ description: "Rows in it and in all before it: of the tenant's log." }),
    root: z.string().meta({ description: 'Merkle tree hash of its rows (RFC 9162), hexadecimal.' }),
    previous: z
      .string()
      .meta({ description: 'SHA-256 of the statement before, hexadecimal; zeros in the first.' }),
    first_id: z.uuid(),
    last_id: z.uuid(),
    sealed_at: z.string(),
    key_id: z.string(),
    statement: z.string().meta({ description: 'The text that is signed.' }),
    signature: z.string().meta({ description: "Ed25519 over the statement's UTF-8, base64url." }),
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
  })
  .meta({ id: 'AuditCheckpointList' });

/** Converts a row of the log to its JSON answer. */
export function presentAuditLog(record: AuditLogRecord) {
  const { targetType: type, targetId: id } = record;
  return present(auditLogSchema, record, {
    actor: { kind: record.actorKind, id: record.actorId },
    target: type === null || id === null ? null : { type, id },
  });
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function presentCheckpoint(checkpoint: SignedCheckpoint) {
  return present(checkpointSchema, checkpoint, {
    number: checkpoint.n,
    root: hex(checkpoint.root),
    previous: hex(checkpoint.previous),
    first_id: checkpoint.first.id,
    last_id: checkpoint.last.id,
    statement: checkpointStatement(checkpoint),
    signature: encodeBase64Url(checkpoint.signature),
  });
}

/** Converts a page of checkpoints, and the keys that verify them, to the JSON answer. */
export function presentCheckpoints(found: CheckpointPage) {
  return present(checkpointListSchema, found, { data: found.data.map(presentCheckpoint) });
}
