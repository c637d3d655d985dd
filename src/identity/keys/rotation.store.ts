// SQL of key rotations. Each statement on one rotation is bound to a tenant or to a key's id. All times come from the
// database's clock.

import { existenceIn } from '../../platform/database/existence.ts';
import { NOW } from '../../platform/database/model.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { countBy, listBy } from '../../platform/temporal/expected-workflows.ts';
import { type AgentPart, OF_AGENT } from '../agents/agent.ts';
import type { KeyLife } from './key.ts';
import { KEY_ROTATION } from './rotation.model.ts';
import type { KeyRotation, RotationFacts, RotationState, Transition } from './rotation.ts';

export type NewRotationRow = Pick<
  KeyRotation,
  'id' | 'tenantId' | 'agentId' | 'oldKeyId' | 'newKeyId' | 'state' | 'overlapSeconds'
> & { readonly deadlineSeconds: number };

/** The old key of a rotation whose new key was just used for the first time. */
export type SwitchedKey = { readonly tenantId: string; readonly keyId: string };

/** The facts that decide a key's next step, and the key's agent. `rotation` is the key's latest rotation. */
export type KeyCase = Omit<RotationFacts, 'key' | 'rotation'> & {
  readonly agentId: string;
  readonly key: KeyLife;
  readonly rotation:
    | (NonNullable<RotationFacts['rotation']> &
        Pick<KeyRotation, 'id' | 'oldKeyId' | 'newKeyId' | 'overlapSeconds'>)
    | null;
};

const RECORD = selectList(KEY_ROTATION, columnNames(KEY_ROTATION), { of: 'r' });

const RECORDS = `
SELECT ${RECORD}, old.sunset_at AS "sunsetAt" FROM key_rotations r JOIN agent_keys old ON old.id = r.old_key_id`;

const JUDGED = selectList(
  KEY_ROTATION,
  ['id', 'oldKeyId', 'newKeyId', 'state', 'overlapSeconds', 'deadlineAt', 'switchedAt', 'stalledAt'],
  { of: 'r' },
);

const CASE = `
SELECT clock_timestamp() AS now, key.agent_id AS "agentId", key.state AS "keyState", key.sunset_at AS "sunsetAt", ${JUDGED},
  new_key.first_used_at AS "newKeyFirstUsedAt"
FROM agent_keys key
LEFT JOIN LATERAL (
  SELECT * FROM key_rotations rotation WHERE rotation.old_key_id = key.id ORDER BY rotation.id DESC LIMIT 1
) AS r ON true
LEFT JOIN agent_keys new_key ON new_key.id = r.new_key_id
WHERE key.id = $1 AND key.tenant_id = $2`;

/** Lists keys that need a workflow. Keys of deleted agents need none. */
const EXPECTED = `
(SELECT k.tenant_id AS "tenantId", k.id AS "entityId" FROM agent_keys k JOIN agents a ON a.id = k.agent_id
 WHERE k.state = 'deprecated' AND k.id > $1 AND a.deleted_at IS NULL ORDER BY k.id LIMIT $2)
UNION
(SELECT r.tenant_id, r.old_key_id FROM key_rotations r JOIN agents a ON a.id = r.agent_id
 WHERE r.ended_at IS NULL AND r.old_key_id > $1 AND a.deleted_at IS NULL ORDER BY r.old_key_id LIMIT $2)
ORDER BY "entityId" LIMIT $2`;

/** Counts keys with an overdue step: of an open rotation, or a sunset without a rotation. */
const OVERDUE = `
SELECT count(*)::int AS count FROM (
  SELECT old.id FROM key_rotations r JOIN agent_keys old ON old.id = r.old_key_id
  WHERE r.ended_at IS NULL AND now() - interval '5 minutes' > CASE
    WHEN r.state = 'overlapping' THEN old.sunset_at WHEN r.stalled_at IS NULL THEN r.deadline_at END
  UNION
  SELECT k.id FROM agent_keys k JOIN agents a ON a.id = k.agent_id
  WHERE k.state = 'deprecated' AND k.sunset_at < now() - interval '5 minutes' AND a.deleted_at IS NULL) AS overdue`;

type CaseRow = Pick<KeyCase, 'now' | 'agentId'> &
  Pick<KeyLife, 'sunsetAt'> & { readonly keyState: KeyLife['state'] } & (
    | NonNullable<KeyCase['rotation']>
    | { readonly id: null }
  );

export async function insert(unit: Transaction, row: NewRotationRow): Promise<void> {
  await unit.query(
    `INSERT INTO key_rotations (id, tenant_id, agent_id, old_key_id, new_key_id, state, overlap_seconds, deadline_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))`,
    [
      row.id,
      row.tenantId,
      row.agentId,
      row.oldKeyId,
      row.newKeyId,
      row.state,
      row.overlapSeconds,
      row.deadlineSeconds,
    ],
  );
}

export async function find(
  queryable: Queryable,
  { tenantId, agentId, id }: AgentPart,
): Promise<KeyRotation | null> {
  const { rows } = await queryable.query<KeyRotation>(
    `${RECORDS} WHERE r.id = $1 AND r.agent_id = $2 AND r.tenant_id = $3`,
    [id, agentId, tenantId],
  );
  return rows[0] ?? null;
}

export const exists = existenceIn<[agentId: string]>('key_rotations', OF_AGENT);

/** Lists rotations, newest first. */
export async function list(
  queryable: Queryable,
  { tenantId, agentId }: Omit<AgentPart, 'id'>,
  { limit, cursor, state }: PageRequest & { readonly state?: RotationState | undefined },
): Promise<Page<KeyRotation>> {
  const { rows } = await queryable.query<KeyRotation>(
    `${RECORDS} WHERE r.tenant_id = $1 AND r.agent_id = $2 AND ($3::uuid IS NULL OR r.id < $3) AND ($4::text IS NULL OR r.state = $4)
         ORDER BY r.id DESC LIMIT $5`,
    [tenantId, agentId, cursor ?? null, state ?? null, limit + 1],
  );
  return toPage(rows, limit);
}

/** Finds the id of the agent's key with this fingerprint or alias. Usable keys are preferred, then older keys. */
export async function findKeyByFingerprint(
  queryable: Queryable,
  { tenantId, agentId }: Omit<AgentPart, 'id'>,
  fingerprint: string,
): Promise<string | undefined> {
  const { rows } = await queryable.query<{ id: string }>(
    `SELECT id FROM agent_keys WHERE tenant_id = $1 AND agent_id = $2 AND (fingerprint = $3 OR $3 = ANY (aliases))
         ORDER BY state = 'revoked' OR coalesce(sunset_at <= now(), false), id LIMIT 1`,
    [tenantId, agentId, fingerprint],
  );
  return rows[0]?.id;
}

/** Locks and returns the open rotations in which the key is the old or the new one, ordered by id. */
export async function lockOpen(
  unit: Transaction,
  keyId: string,
): Promise<Pick<KeyRotation, 'id' | 'oldKeyId' | 'newKeyId' | 'state'>[]> {
  const { rows } = await unit.query<Pick<KeyRotation, 'id' | 'oldKeyId' | 'newKeyId' | 'state'>>(
    `SELECT id, old_key_id AS "oldKeyId", new_key_id AS "newKeyId", state FROM key_rotations
         WHERE (old_key_id = $1 OR new_key_id = $1) AND ended_at IS NULL ORDER BY id FOR UPDATE`,
    [keyId],
  );
  return rows;
}

/** Changes the state of an open rotation. When the rotation ends, also stores the time and the reason. */
export async function move(
  unit: Transaction,
  id: string,
  to: Transition | { readonly state: 'canceled'; readonly endReason: 'canceled' },
): Promise<void> {
  const endReason = 'endReason' in to ? to.endReason : null;
  await unit.query(
    `UPDATE key_rotations SET state = $2, end_reason = $3::text, ended_at = CASE WHEN $3::text IS NULL THEN NULL ELSE now() END
         WHERE id = $1`,
    [id, to.state, endReason],
  );
}

/** Counts the keys whose sunset or rotation deadline passed more than 5 minutes ago without its step. */
export const countOverdue = countBy(OVERDUE);

export async function markSwitched(transaction: Transaction, id: string, switchedAt: Date): Promise<void> {
  await transaction.model(KEY_ROTATION).update({ id }, { switchedAt });
}

export async function markStalled(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(KEY_ROTATION).update({ id }, { stalledAt: NOW });
}

/** Returns a summary such as `ed25519 · 1a2b3c4d5e6f7081`, and the key's agent. */
export async function describeKey(
  queryable: Queryable,
  { tenantId, keyId }: { tenantId: string; keyId: string },
): Promise<{ summary: string; agentId: string } | undefined> {
  const { rows } = await queryable.query<{ summary: string; agentId: string }>(
    `SELECT algorithm || ' · ' || left(fingerprint, 16) AS summary, agent_id AS "agentId"
         FROM agent_keys WHERE id = $1 AND tenant_id = $2`,
    [keyId, tenantId],
  );
  return rows[0];
}

/** Lists the keys whose workflow should be running: deprecated keys, and old keys of open rotations. */
export const listExpectedWorkflows = listBy(EXPECTED);

/** Reads a key with its latest rotation; null when the key does not exist. */
export async function readCase(
  queryable: Queryable,
  { tenantId, keyId }: { tenantId: string; keyId: string },
): Promise<KeyCase | null> {
  const { rows } = await queryable.query<CaseRow>(CASE, [keyId, tenantId]);
  return rows[0] === undefined ? null : toCase(rows[0]);
}

function toCase({ now, agentId, keyState: state, sunsetAt, ...rotation }: CaseRow): KeyCase {
  return { now, agentId, key: { state, sunsetAt }, rotation: rotation.id === null ? null : rotation };
}
