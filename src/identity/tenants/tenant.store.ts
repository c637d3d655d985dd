// All SQL of the tenants. A slug is never freed: there is no deletion here.
import type { Sequelize } from 'sequelize';
import { translateDatabaseError, violatedUnique } from '../../platform/database/errors.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { defineTenantModel } from './tenant.model.ts';
import type { TenantAddress, TenantRecord } from './tenant.ts';

/** What a change may touch. */
export type TenantChange = Partial<
  Pick<TenantRecord, 'name' | 'audience' | 'signingAlgorithm'> & TenantAddress
>;

/** Why a tenant's row was refused, by the constraint that refused it. */
const REFUSALS: Readonly<Record<string, string>> = {
  tenants_slug_unique: 'This slug is taken. A slug is never used again.',
  tenants_base_url_unique: 'Another tenant has this address.',
  tenants_issuer_url_unique: 'Another tenant has this address.',
};

// Whoever makes an endpoint holds the tenant FOR SHARE: an endpoint is seen by the suspension, or sees it.
const SUSPEND = `
UPDATE tenants SET suspended_at = now(), updated_at = now() WHERE id = $1 AND suspended_at IS NULL RETURNING id`;
const RESUME = `
UPDATE tenants SET suspended_at = NULL, resumed_at = now(), updated_at = now() WHERE id = $1 AND suspended_at IS NOT NULL RETURNING id`;

/** SQL of `tenants`. */
export function createTenantStore({ sequelize }: { sequelize: Sequelize }) {
  const model = defineTenantModel(sequelize);
  const read = (row: InstanceType<typeof model> | null | undefined) => row?.get({ plain: true });

  return {
    /** @throws ServiceError `conflict` when the slug or the address is taken */
    insert: async (
      transaction: Transaction,
      tenant: Omit<TenantRecord, 'createdAt' | 'updatedAt' | 'suspendedAt' | 'resumedAt'>,
    ): Promise<TenantRecord> => {
      const row = await model
        .create(tenant, { transaction: transaction.sequelize, returning: true })
        .catch(refuse);
      return row.get({ plain: true });
    },

    /** Changes the given fields. @returns the row afterwards, undefined when there is none */
    update: async (
      transaction: Transaction,
      id: string,
      change: TenantChange,
    ): Promise<TenantRecord | undefined> => {
      const [, rows] = await model
        .update(
          { ...change, updatedAt: sequelize.fn('now') },
          { where: { id }, transaction: transaction.sequelize, returning: true },
        )
        .catch(refuse);
      return read(rows[0]);
    },

    /** Reads a tenant and keeps everybody else from changing it until the transaction ends. */
    lock: async (
      transaction: Transaction,
      by: { slug: string } | { id: string },
    ): Promise<TenantRecord | undefined> =>
      read(
        await model
          .findOne({
            where: by,
            transaction: transaction.sequelize,
            lock: transaction.sequelize.LOCK.NO_KEY_UPDATE,
          })
          .catch(refuse),
      ),

    /** @returns false when it was so already */
    setSuspended: async (unit: Queryable, id: string, suspended: boolean): Promise<boolean> => {
      const { rowCount } = await unit.query(suspended ? SUSPEND : RESUME, [id]);
      return rowCount > 0;
    },

    /** The tenant with this slug or this id. One round trip. */
    find: async (by: { slug: string } | { id: string }): Promise<TenantRecord | undefined> =>
      read(await model.findOne({ where: by }).catch(refuse)),

    /** All tenants, the oldest first. */
    list: async (): Promise<TenantRecord[]> => {
      const rows = await model.findAll({ order: [['id', 'ASC']] }).catch(refuse);
      return rows.map((row) => row.get({ plain: true }));
    },
  };
}

export type TenantStore = ReturnType<typeof createTenantStore>;

function refuse(error: unknown): never {
  const detail = REFUSALS[violatedUnique(error) ?? ''];
  if (detail === undefined) throw translateDatabaseError(error);
  throw new ServiceError('conflict', { detail, cause: error });
}
