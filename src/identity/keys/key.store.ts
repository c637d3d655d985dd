// All SQL of agent keys, apart from the hot statements of authentication. Every statement is bound to one tenant.
import { fn, literal, Op, type Sequelize, type WhereOptions } from 'sequelize';
import { translateDatabaseError, violatedUnique } from '../../platform/database/errors.ts';
import { decodeCursor, type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { defineKeyModel, type KeyModel, type KeyRow, type NewKeyRow } from './key.model.ts';
import type { KeyState } from './key.ts';

/** A key as it was read; `readAt` is the database's time of the reading. */
export type StoredKey = KeyRow & { readonly readAt: Date };

/** Names one key: an id of another agent or tenant finds nothing. */
export type KeyName = { readonly tenantId: string; readonly agentId: string; readonly id: string };

const WITH_TIME: { include: [ReturnType<typeof fn>, string][] } = { include: [[fn('now'), 'readAt']] };

/** A key whose sunset has passed is revoked, whatever its row still says. */
const IN_STATE: Readonly<Record<KeyState, WhereOptions<KeyRow>>> = {
  active: { state: 'active' },
  deprecated: { state: 'deprecated', sunsetAt: { [Op.gt]: literal('now()') } },
  revoked: {
    [Op.or]: [{ state: 'revoked' }, { state: 'deprecated', sunsetAt: { [Op.lte]: literal('now()') } }],
  },
};

/** What may authenticate. */
const USABLE: WhereOptions<KeyRow> = { [Op.or]: [IN_STATE.active, IN_STATE.deprecated] };

/** SQL of agent keys; statements join `transaction` where one is given. */
export function createKeyStore({ sequelize }: { sequelize: Sequelize }) {
  const keys = defineKeyModel(sequelize);
  return {
    /** @throws ServiceError `key_exists` when the tenant has this key already, revoked ones included */
    insert: async (transaction: Transaction, row: NewKeyRow): Promise<void> => {
      try {
        await keys.create(row, { transaction: transaction.sequelize });
      } catch (error) {
        if (violatedUnique(error) === 'agent_keys_fingerprint_unique') throw keyExists(error);
        throw error;
      }
    },

    /** Whether the key and its agent are there. One indexed read. */
    exists: async (queryable: Queryable, { tenantId, agentId, id }: KeyName): Promise<boolean> => {
      const { rowCount } = await queryable.query(
        `SELECT 1 FROM agent_keys key JOIN agents agent ON agent.id = key.agent_id AND agent.tenant_id = key.tenant_id
         WHERE key.id = $1 AND key.agent_id = $2 AND key.tenant_id = $3 AND agent.deleted_at IS NULL`,
        [id, agentId, tenantId],
      );
      return rowCount > 0;
    },

    find: (transaction: Transaction | undefined, name: KeyName) => readKey(keys, transaction, name),

    /** Reads a key and locks it until the transaction ends; authentications under way with it are waited for. */
    lock: (transaction: Transaction, name: KeyName) => readKey(keys, transaction, name, true),

    list: (
      transaction: Transaction | undefined,
      owner: Omit<KeyName, 'id'>,
      request: PageRequest & { readonly state?: KeyState | undefined },
    ): Promise<Page<StoredKey>> => listKeys(keys, transaction, owner, request),

    /** The keys of an agent that may authenticate, the newest first, at most `limit`. */
    listUsable: async (
      transaction: Transaction | undefined,
      owner: Omit<KeyName, 'id'>,
      limit: number,
    ): Promise<StoredKey[]> =>
      translate(async () => {
        const rows = await keys.findAll({
          attributes: WITH_TIME,
          where: { ...owner, ...USABLE },
          order: [['id', 'DESC']],
          limit,
          transaction: transaction?.sequelize ?? null,
        });
        return rows.map((row) => row.get({ plain: true }) as StoredKey);
      }),

    markVerified: (transaction: Transaction, id: string) =>
      change(keys, transaction, id, { verifiedAt: fn('now') }),

    /** The time of the first deprecation stays when the sunset moves. */
    deprecate: (transaction: Transaction, id: string, sunsetAt: Date) =>
      change(keys, transaction, id, {
        state: 'deprecated',
        sunsetAt,
        deprecatedAt: literal('coalesce(deprecated_at, now())'),
      }),

    revoke: (transaction: Transaction, id: string, reason: string | null) =>
      change(keys, transaction, id, { state: 'revoked', revokedAt: fn('now'), revokedReason: reason }),

    /**
     * Removes the keys of an agent that are neither revoked nor past their sunset: they are free again, and their rotations are gone.
     * The workflows concerned are told, which finds them nothing left to do.
     */
    release: async (transaction: Transaction, agentId: string): Promise<void> => {
      await transaction.query(
        `INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
         SELECT tenant_id, 'agentKeyRotation', id FROM agent_keys key
         WHERE agent_id = $1 AND (state = 'deprecated'
           OR EXISTS (SELECT 1 FROM key_rotations WHERE old_key_id = key.id AND ended_at IS NULL))`,
        [agentId],
      );
      await keys.destroy({
        where: { agentId, ...USABLE },
        transaction: transaction.sequelize,
      });
    },

    /** Notes a use of the key, unless one was noted in the last minute. */
    recordUse: async (queryable: Queryable, id: string): Promise<void> => {
      await queryable.query(
        `UPDATE agent_keys SET last_used_at = now()
         WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
        [id],
      );
    },
  };
}

export type KeyStore = ReturnType<typeof createKeyStore>;

async function readKey(
  keys: KeyModel,
  transaction: Transaction | undefined,
  { tenantId, agentId, id }: KeyName,
  lock = false,
): Promise<StoredKey | null> {
  return translate(async () => {
    const row = await keys.findOne({
      attributes: WITH_TIME,
      where: { id, agentId, tenantId },
      transaction: transaction?.sequelize ?? null,
      lock,
    });
    return row === null ? null : (row.get({ plain: true }) as StoredKey);
  });
}

async function listKeys(
  keys: KeyModel,
  transaction: Transaction | undefined,
  { tenantId, agentId }: Omit<KeyName, 'id'>,
  { limit, cursor, state }: PageRequest & { readonly state?: KeyState | undefined },
): Promise<Page<StoredKey>> {
  const after = decodeCursor(cursor);
  return translate(async () => {
    const rows = await keys.findAll({
      attributes: WITH_TIME,
      where: {
        tenantId,
        agentId,
        ...(state === undefined ? {} : IN_STATE[state]),
        ...(after === undefined ? {} : { id: { [Op.lt]: after } }),
      },
      order: [['id', 'DESC']],
      limit: limit + 1,
      transaction: transaction?.sequelize ?? null,
    });
    return toPage(
      rows.map((row) => row.get({ plain: true }) as StoredKey),
      limit,
    );
  });
}

async function change(
  keys: KeyModel,
  transaction: Transaction,
  id: string,
  changes: Parameters<KeyModel['update']>[0],
): Promise<void> {
  await keys.update(changes, { where: { id }, transaction: transaction.sequelize });
}

async function translate<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

function keyExists(cause: unknown): ServiceError {
  return new ServiceError('key_exists', {
    detail:
      'This key is registered in this tenant already; a key lives once in a tenant, also when it is revoked.',
    cause,
  });
}
