// All SQL of subscriptions. Every statement of a route is bound to one tenant; a deleted subscription is as if it had never been.
import { fn, Op, type Sequelize } from 'sequelize';
import { translateDatabaseError } from '../../platform/database/errors.ts';
import { decodeCursor, type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { defineSubscriptionModel, type NewSubscriptionRow } from './subscription.model.ts';
import type { SubscriptionRecord } from './subscription.ts';

export type SubscriptionChanges = Partial<Omit<NewSubscriptionRow, 'id' | 'tenantId'>> & {
  readonly disabledReason?: string | null;
};

const DISABLE = `
UPDATE subscriptions SET disabled_reason = $3, updated_at = now()
WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL
  AND EXISTS (SELECT 1 FROM endpoints p WHERE p.subscription_id = subscriptions.id AND p.active)
RETURNING host, event_types AS "eventTypes"`;

/** SQL of `subscriptions`; statements join `transaction` where one is given. */
export function createSubscriptionStore({ sequelize }: { sequelize: Sequelize }) {
  const subscriptions = defineSubscriptionModel(sequelize);

  const change = async (
    transaction: Transaction,
    id: string,
    changes: SubscriptionChanges | { deletedAt: ReturnType<typeof fn> },
  ): Promise<SubscriptionRecord> => {
    const [, rows] = await subscriptions.update(
      { ...changes, updatedAt: fn('now') },
      { where: { id }, returning: true, transaction: transaction.sequelize },
    );
    const row = rows[0];
    if (row === undefined) throw new Error(`subscription ${id} vanished although it was locked`);
    return row.get();
  };

  return {
    insert: async (transaction: Transaction, row: NewSubscriptionRow): Promise<SubscriptionRecord> => {
      const created = await subscriptions.create(row, { transaction: transaction.sequelize });
      return created.get();
    },

    /** Whether the subscription is there. One indexed read. */
    exists: async (queryable: Queryable, tenantId: string, id: string): Promise<boolean> => {
      const { rowCount } = await queryable.query(
        'SELECT 1 FROM subscriptions WHERE id = $1 AND tenant_id = $2 AND deleted_at IS NULL',
        [id, tenantId],
      );
      return rowCount > 0;
    },

    find: (
      transaction: Transaction | undefined,
      tenantId: string,
      id: string,
    ): Promise<SubscriptionRecord | null> =>
      translate(async () => {
        const row = await subscriptions.findOne({
          where: { id, tenantId, deletedAt: null },
          transaction: transaction?.sequelize ?? null,
        });
        return row?.get() ?? null;
      }),

    /** Reads a subscription and keeps others from changing it until the transaction ends. */
    lock: async (
      transaction: Transaction,
      tenantId: string,
      id: string,
    ): Promise<SubscriptionRecord | null> => {
      const row = await subscriptions.findOne({
        where: { id, tenantId, deletedAt: null },
        transaction: transaction.sequelize,
        lock: transaction.sequelize.LOCK.NO_KEY_UPDATE,
      });
      return row?.get() ?? null;
    },

    list: (
      transaction: Transaction | undefined,
      tenantId: string,
      { limit, cursor }: PageRequest,
    ): Promise<Page<SubscriptionRecord>> => {
      const after = decodeCursor(cursor);
      return translate(async () => {
        const rows = await subscriptions.findAll({
          where: { tenantId, deletedAt: null, ...(after === undefined ? {} : { id: { [Op.lt]: after } }) },
          order: [['id', 'DESC']],
          limit: limit + 1,
          transaction: transaction?.sequelize ?? null,
        });
        return toPage(
          rows.map((row) => row.get()),
          limit,
        );
      });
    },

    /** Changes a row that the transaction has locked. */
    update: (
      transaction: Transaction,
      id: string,
      changes: SubscriptionChanges,
    ): Promise<SubscriptionRecord> => change(transaction, id, changes),

    /** Marks a row that the transaction has locked; nothing selects it from then on. */
    markDeleted: (transaction: Transaction, id: string): Promise<SubscriptionRecord> =>
      change(transaction, id, { deletedAt: fn('now') }),

    /** Notes why the service itself has deactivated a subscription. @returns undefined when it is inactive or deleted */
    disable: async (
      unit: Queryable,
      tenantId: string,
      id: string,
      reason: string,
    ): Promise<{ host: string; eventTypes: string[] } | undefined> => {
      const { rows } = await unit.query<{ host: string; eventTypes: string[] }>(DISABLE, [
        tenantId,
        id,
        reason,
      ]);
      return rows[0];
    },
  };
}

export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

async function translate<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw translateDatabaseError(error);
  }
}
