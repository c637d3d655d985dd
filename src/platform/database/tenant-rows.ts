// The statements that stores of a tenant's rows have in common.

import { ServiceError } from '../errors/service-error.ts';
import type { Given } from '../given.ts';
import { violatedUnique } from './errors.ts';
import { existenceIn } from './existence.ts';
import { asked, type Changes, type LockLevel, type Models, NOW, type Where } from './model.ts';
import type { Page, PageRequest } from './page.ts';
import { loadSequelize } from './sequelize.ts';
import type { NewRowOf, RowOf, Table } from './table.ts';
import type { Transaction } from './transaction.ts';

/**
 * @param table has the columns `id`, `tenantId` and `updatedAt`; with `deletedAt`, a row that has it is found no more
 * @param unique the constraint that a second row of the same thing violates, and what the client is told
 */
export function createTenantRows<T extends Table>(table: T, unique?: { constraint: string; detail: string }) {
  const isMarked = 'deletedAt' in table.columns;
  // TypeScript cannot see which columns a table has before it is given.
  const where = (conditions: object) =>
    ({ ...conditions, ...(isMarked && { deletedAt: null }) }) as unknown as Where<T>;
  const refuse = (error: unknown): never => {
    if (unique === undefined || violatedUnique(error) !== unique.constraint) throw error;
    throw new ServiceError('conflict', { detail: unique.detail, cause: error });
  };
  const change = (transaction: Transaction, id: string, changes: object): Promise<RowOf<T>> =>
    transaction.model(table).change(id, { ...changes, updatedAt: NOW } as Changes<T>);
  return {
    exists: existenceIn(table.name, isMarked ? 'deleted_at IS NULL' : 'true'),
    /** @throws ServiceError `conflict` */
    insert: (transaction: Transaction, row: NewRowOf<T>): Promise<RowOf<T>> =>
      transaction.model(table).insert(row).catch(refuse),
    find: (models: Models, tenantId: string, id: string): Promise<RowOf<T> | undefined> =>
      models.model(table).find(where({ id, tenantId })),
    /** Locks the row until the transaction ends. */
    lock: (
      transaction: Transaction,
      tenantId: string,
      id: string,
      level: LockLevel = 'UPDATE',
    ): Promise<RowOf<T> | undefined> => transaction.model(table).lock(where({ id, tenantId }), level),
    /**
     * Lists rows, newest first. @param conditions of which absent ones are left out
     * @param filters further conditions of Sequelize
     */
    list: (
      models: Models,
      tenantId: string,
      { limit, cursor, ...conditions }: PageRequest & Given<RowOf<T>>,
      filters: readonly object[] = [],
    ): Promise<Page<RowOf<T> & { readonly id: string }>> =>
      models.model(table).page(
        where({
          ...asked(conditions),
          tenantId,
          ...(filters.length > 0 && { [loadSequelize().Op.and]: filters }),
        }),
        { limit, cursor },
      ),
    /** Lists all rows of a tenant, newest first. */
    listAll: (models: Models, tenantId: string): Promise<RowOf<T>[]> =>
      models.model(table).list({ where: where({ tenantId }), order: [['id', 'DESC']] }),
    /** Changes a row that the transaction has locked. */
    update: (transaction: Transaction, id: string, changes: Changes<T>): Promise<RowOf<T>> =>
      change(transaction, id, changes),
    /** Marks a row that the transaction has locked as deleted. */
    markDeleted: (transaction: Transaction, id: string): Promise<RowOf<T>> =>
      change(transaction, id, { deletedAt: NOW }),
    remove: (transaction: Transaction, id: string): Promise<void> =>
      transaction.model(table).remove(where({ id })),
  };
}
