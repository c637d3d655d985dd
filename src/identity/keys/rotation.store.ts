// SQL of key rotations. Each statement on one rotation is bound to a tenant or to a key's id. All times come from the
// database's clock.

import { countBreaches } from '../../platform/database/breach.ts';
import { existenceIn } from '../../platform/database/existence.ts';
import { NOW } from '../../platform/database/model.ts';
import { done, many, one, paged } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import { type AgentPart, OF_AGENT } from '../agents/agent.ts';
import type { KeyRow } from './key.model.ts';
import type { KeyLife } from './key.ts';
import { KEY_ROTATION } from './rotation.model.ts';
import type { EndReason, KeyRotation, RotationFacts, RotationState, Transition } from './rotation.ts';

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
SELECT ${RECORD}, old.sunset_at FROM key_rotations r JOIN agent_keys old ON old.id = r.old_key_id`;

const JUDGED = selectList(
  KEY_ROTATION,
  ['id', 'oldKeyId', 'newKeyId', 'state', 'overlapSeconds', 'deadlineAt', 'switchedAt', 'stalledAt'],
  { of: 'r' },
);

type CaseRow = Pick<KeyCase, 'now' | 'agentId'> &
  Pick<KeyLife, 'sunsetAt'> & { readonly keyState: KeyLife['state'] } & (
    | NonNullable<KeyCase['rotation']>
    | { readonly id: null }
  );

const readRow = one<CaseRow, [tenantId: string, keyId: string]>(`
SELECT clock_timestamp() AS now, key.agent_id, key.state AS key_state, key.sunset_at, ${JUDGED},
  new_key.first_used_at AS new_key_first_used_at
FROM agent_keys key
LEFT JOIN LATERAL (
  SELECT * FROM key_rotations rotation WHERE rotation.old_key_id = key.id ORDER BY rotation.id DESC LIMIT 1
) AS r ON true
LEFT JOIN agent_keys new_key ON new_key.id = r.new_key_id
WHERE key.id = $2 AND key.tenant_id = $1`);

const insertRow = done<
  [
    id: string,
    tenantId: string,
    agentId: string,
    oldKeyId: string,
    newKeyId: string,
    state: RotationState,
    overlapSeconds: number,
    deadlineSeconds: number,
  ]
>(`
INSERT INTO key_rotations (id, tenant_id, agent_id, old_key_id, new_key_id, state, overlap_seconds, deadline_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))`);

export function insert(unit: Transaction, row: NewRotationRow): Promise<void> {
  const { id, tenantId, agentId, oldKeyId, newKeyId, state, overlapSeconds, deadlineSeconds } = row;
  return insertRow(unit, id, tenantId, agentId, oldKeyId, newKeyId, state, overlapSeconds, deadlineSeconds);
}

export const find = one<KeyRotation, [tenantId: string, agentId: string, id: string]>(
  `${RECORDS} WHERE r.id = $3 AND r.agent_id = $2 AND r.tenant_id = $1`,
);

export const exists = existenceIn<[agentId: string]>('key_rotations', OF_AGENT);

export const list = paged<
  KeyRotation,
  [tenantId: string, agentId: string, state: RotationState | undefined]
>(`
${RECORDS} WHERE r.tenant_id = $3 AND r.agent_id = $4 AND ($1::uuid IS NULL OR r.id < $1) AND ($5::text IS NULL OR r.state = $5)
ORDER BY r.id DESC LIMIT $2`);

const findKey = one<Pick<KeyRow, 'id'>, [tenantId: string, agentId: string, fingerprint: string]>(`
SELECT id FROM agent_keys WHERE tenant_id = $1 AND agent_id = $2 AND (fingerprint = $3 OR $3 = ANY (aliases))
ORDER BY state = 'revoked' OR coalesce(sunset_at <= now(), false), id LIMIT 1`);

/** Finds the id of the agent's key with this fingerprint or alias. Usable keys are preferred, then older keys. */
export const findKeyByFingerprint = async (
  queryable: Queryable,
  { tenantId, agentId }: Omit<AgentPart, 'id'>,
  fingerprint: string,
): Promise<string | undefined> => (await findKey(queryable, tenantId, agentId, fingerprint))?.id;

/** Locks and returns the open rotations in which the key is the old or the new one, ordered by id. */
export const lockOpen = many<Pick<KeyRotation, 'id' | 'oldKeyId' | 'newKeyId' | 'state'>, [keyId: string]>(`
SELECT id, old_key_id, new_key_id, state FROM key_rotations
WHERE (old_key_id = $1 OR new_key_id = $1) AND ended_at IS NULL ORDER BY id FOR UPDATE`);

const moveTo = done<[id: string, state: RotationState, endReason: EndReason | undefined]>(`
UPDATE key_rotations SET state = $2, end_reason = $3::text, ended_at = CASE WHEN $3::text IS NULL THEN NULL ELSE now() END
WHERE id = $1`);

/** Changes the state of an open rotation. When the rotation ends, also stores the time and the reason. */
export async function move(
  unit: Transaction,
  id: string,
  to: Transition | { readonly state: 'canceled'; readonly endReason: 'canceled' },
): Promise<void> {
  await moveTo(unit, id, to.state, 'endReason' in to ? to.endReason : undefined);
}

/** Keys with a step that is due: of an open rotation, or a sunset without a rotation. */
export const findOverdue = countBreaches(
  'due',
  `
FROM (
  SELECT id, min(due) AS due FROM (
    SELECT old.id, CASE
      WHEN r.state = 'overlapping' THEN old.sunset_at WHEN r.stalled_at IS NULL THEN r.deadline_at END AS due
    FROM key_rotations r JOIN agent_keys old ON old.id = r.old_key_id WHERE r.ended_at IS NULL
    UNION ALL
    SELECT k.id, k.sunset_at FROM agent_keys k JOIN agents a ON a.id = k.agent_id
    WHERE k.state = 'deprecated' AND k.sunset_at < now() AND a.deleted_at IS NULL) AS steps
  GROUP BY id
) AS keys`,
);

export async function markSwitched(transaction: Transaction, id: string, switchedAt: Date): Promise<void> {
  await transaction.model(KEY_ROTATION).update({ id }, { switchedAt });
}

export async function markStalled(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(KEY_ROTATION).update({ id }, { stalledAt: NOW });
}

/** Returns a summary such as `ed25519 · 1a2b3c4d5e6f7081`, and the key's agent. */
export const describeKey = one<{ summary: string; agentId: string }, [tenantId: string, keyId: string]>(`
SELECT algorithm || ' · ' || left(fingerprint, 16) AS summary, agent_id FROM agent_keys WHERE id = $2 AND tenant_id = $1`);

/** Lists the keys whose workflow should run: deprecated ones, and old ones of open rotations; no deleted agent's. */
export const listExpectedWorkflows = listBy(`
(SELECT k.tenant_id, k.id AS entity_id FROM agent_keys k JOIN agents a ON a.id = k.agent_id
 WHERE k.state = 'deprecated' AND k.id > $1 AND a.deleted_at IS NULL ORDER BY k.id LIMIT $2)
UNION
(SELECT r.tenant_id, r.old_key_id FROM key_rotations r JOIN agents a ON a.id = r.agent_id
 WHERE r.ended_at IS NULL AND r.old_key_id > $1 AND a.deleted_at IS NULL ORDER BY r.old_key_id LIMIT $2)
ORDER BY entity_id LIMIT $2`);

/** Reads a key with its latest rotation; null when the key does not exist. */
export async function readCase(
  queryable: Queryable,
  { tenantId, keyId }: { tenantId: string; keyId: string },
): Promise<KeyCase | null> {
  const row = await readRow(queryable, tenantId, keyId);
  return row === undefined ? null : toCase(row);
}

function toCase({ now, agentId, keyState: state, sunsetAt, ...rotation }: CaseRow): KeyCase {
  return { now, agentId, key: { state, sunsetAt }, rotation: rotation.id === null ? null : rotation };
}
