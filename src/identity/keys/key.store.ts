// SQL of keys, except the frequent statements of authentication. Each statement is bound to one tenant.
import type { fn } from 'sequelize';
import { violatedUnique } from '../../platform/database/errors.ts';
import { existenceIn } from '../../platform/database/existence.ts';
import { type Models, NOW, type Where } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { loadSequelize } from '../../platform/database/sequelize.ts';
import { done } from '../../platform/database/statements.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { enqueueCommands } from '../../platform/temporal/enqueued-commands.ts';
import { type AgentPart, OF_AGENT } from '../agents/agent.ts';
import { AGENT_KEY, type KeyRow, type NewKeyRow } from './key.model.ts';
import type { KeyState } from './key.ts';

/** `readAt` is the database's time of the read. */
export type StoredKey = KeyRow & { readonly readAt: Date };

const withTime = (): { attributes: { include: [ReturnType<typeof fn>, string][] } } => ({
  attributes: { include: [[loadSequelize().fn('clock_timestamp'), 'readAt']] },
});

const ONLY_ID = { attributes: ['id'] };

/** A key past its sunset counts as revoked, even while its row still has the state `deprecated`. */
function inState(state: KeyState): Where<typeof AGENT_KEY> {
  const { literal, Op } = loadSequelize();
  const sunsetAt = (operator: typeof Op.gt | typeof Op.lte) => ({
    state: 'deprecated' as const,
    sunsetAt: { [operator]: literal('now()') },
  });
  if (state === 'deprecated') return sunsetAt(Op.gt);
  return state === 'active' ? { state } : { [Op.or]: [{ state }, sunsetAt(Op.lte)] };
}

const usable = (): Where<typeof AGENT_KEY> => ({
  [loadSequelize().Op.or]: [inState('active'), inState('deprecated')],
});

const tellRotations = done<[agentId: string]>(
  enqueueCommands(
    'agentKeyRotation',
    `agent_keys key WHERE agent_id = $1 AND (state = 'deprecated'
     OR EXISTS (SELECT 1 FROM key_rotations WHERE old_key_id = key.id AND ended_at IS NULL))`,
  ),
);

/** @throws ServiceError `key_exists` when the tenant already has this key, revoked or not */
export async function insert(transaction: Transaction, row: NewKeyRow): Promise<void> {
  try {
    await transaction.model(AGENT_KEY).insert(row);
  } catch (error) {
    if (violatedUnique(error) === 'agent_keys_fingerprint_unique') throw keyExists(error);
    throw error;
  }
}

export const exists = existenceIn<[agentId: string]>('agent_keys', OF_AGENT);

export async function find(
  models: Models,
  { tenantId, agentId, id }: AgentPart,
): Promise<StoredKey | undefined> {
  const key = await models.model(AGENT_KEY).find({ id, agentId, tenantId }, withTime());
  return key as StoredKey | undefined;
}

/**
 * Locks a key until the transaction ends, and then reads it. Waits for running authentications with this key, therefore
 * no authentication has used it after `readAt`.
 */
export async function lock(transaction: Transaction, name: AgentPart): Promise<StoredKey | undefined> {
  const { tenantId, agentId, id } = name;
  const found = await transaction.model(AGENT_KEY).lock({ id, agentId, tenantId }, 'UPDATE', ONLY_ID);
  // A statement has the time before its wait for the lock, so the time needs another one.
  return found === undefined ? undefined : find(transaction, name);
}

/** Locks a key against changes, and not against its use. */
export async function hold(transaction: Transaction, { tenantId, agentId, id }: AgentPart): Promise<void> {
  await transaction.model(AGENT_KEY).lock({ id, agentId, tenantId }, 'KEY SHARE', ONLY_ID);
}

/** Lists keys, newest first. */
export async function list(
  models: Models,
  { tenantId, agentId }: Omit<AgentPart, 'id'>,
  { state, ...request }: PageRequest & { readonly state?: KeyState | undefined },
): Promise<Page<StoredKey>> {
  const conditions = { tenantId, agentId, ...(state === undefined ? {} : inState(state)) };
  const page = await models.model(AGENT_KEY).page(conditions, request, withTime());
  return page as Page<StoredKey>;
}

/** Lists the keys with which an agent may authenticate, newest first, at most `limit`. */
export async function listUsable(
  models: Models,
  { tenantId, agentId }: Omit<AgentPart, 'id'>,
  limit: number,
): Promise<StoredKey[]> {
  const where = { tenantId, agentId, ...usable() };
  const keys = await models.model(AGENT_KEY).list({ ...withTime(), where, order: [['id', 'DESC']], limit });
  return keys as StoredKey[];
}

export async function markVerified(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(AGENT_KEY).update({ id }, { verifiedAt: NOW });
}

/** Deprecates a key or changes its sunset. The time of the first deprecation is kept. */
export async function deprecate(transaction: Transaction, id: string, sunsetAt: Date): Promise<void> {
  const deprecatedAt = loadSequelize().literal('coalesce(deprecated_at, now())');
  await transaction.model(AGENT_KEY).update({ id }, { state: 'deprecated', sunsetAt, deprecatedAt });
}

export async function revoke(transaction: Transaction, id: string, reason: string | null): Promise<void> {
  const changes = { state: 'revoked', revokedAt: NOW, revokedReason: reason } as const;
  await transaction.model(AGENT_KEY).update({ id }, changes);
}

/**
 * Deletes an agent's keys that are neither revoked nor past their sunset, and their rotations, so that the keys can be
 * registered again. Enqueues signals to the keys' workflows, which then end.
 */
export async function release(transaction: Transaction, agentId: string): Promise<void> {
  await tellRotations(transaction, agentId);
  await transaction.model(AGENT_KEY).remove({ agentId, ...usable() });
}

/** Records a use of the key, unless a use was recorded in the last minute. */
export const recordUse = done<[id: string]>(`
UPDATE agent_keys SET last_used_at = now()
WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`);

function keyExists(cause: unknown): ServiceError {
  return new ServiceError('key_exists', {
    detail:
      'This key is registered in this tenant already; a key lives once in a tenant, also when it is revoked.',
    cause,
  });
}
