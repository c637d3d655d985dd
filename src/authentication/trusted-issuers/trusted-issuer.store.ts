// All SQL of trusted issuers. Every statement is bound to one tenant.
import { fn, Op, type Sequelize } from 'sequelize';
import { translateDatabaseError, violatedUnique } from '../../platform/database/errors.ts';
import { decodeCursor, type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { defineTrustedIssuerModel, type NewTrustedIssuerRow } from './trusted-issuer.model.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

export type TrustedIssuerChange = Pick<TrustedIssuer, 'jwksUri' | 'jwks' | 'audiences'>;

/** SQL of `trusted_issuers`; statements join `transaction` where one is given. */
export function createTrustedIssuerStore({ sequelize }: { sequelize: Sequelize }) {
  const model = defineTrustedIssuerModel(sequelize);
  const joining = (transaction: Transaction | undefined) => ({ transaction: transaction?.sequelize ?? null });

  return {
    /** @throws ServiceError `conflict` when the tenant trusts the issuer already */
    insert: async (transaction: Transaction, row: NewTrustedIssuerRow): Promise<TrustedIssuer> => {
      const created = await model
        .create(row, { transaction: transaction.sequelize, returning: true })
        .catch(translate);
      return created.get({ plain: true });
    },

    find: async (
      transaction: Transaction | undefined,
      tenantId: string,
      id: string,
    ): Promise<TrustedIssuer | undefined> => {
      const row = await model.findOne({ where: { id, tenantId }, ...joining(transaction) }).catch(translate);
      return row?.get({ plain: true });
    },

    /** Whether it is there. One indexed read. */
    exists: async (tenantId: string, id: string): Promise<boolean> =>
      (await model.count({ where: { id, tenantId } }).catch(translate)) > 0,

    /** Reads one and locks it until the transaction ends. */
    lock: async (
      transaction: Transaction,
      tenantId: string,
      id: string,
    ): Promise<TrustedIssuer | undefined> => {
      const row = await model
        .findOne({ where: { id, tenantId }, transaction: transaction.sequelize, lock: true })
        .catch(translate);
      return row?.get({ plain: true });
    },

    /** The issuer of tokens with this `iss`. */
    findByIssuer: async (tenantId: string, issuer: string): Promise<TrustedIssuer | undefined> => {
      const row = await model.findOne({ where: { tenantId, issuer } }).catch(translate);
      return row?.get({ plain: true });
    },

    /** The newest first. @throws ServiceError `invalid_request` for a foreign cursor */
    list: async (
      transaction: Transaction | undefined,
      tenantId: string,
      { limit, cursor, issuer }: PageRequest & { readonly issuer?: string | undefined },
    ): Promise<Page<TrustedIssuer>> => {
      const after = decodeCursor(cursor);
      const rows = await model
        .findAll({
          where: {
            tenantId,
            ...(issuer === undefined ? {} : { issuer }),
            ...(after === undefined ? {} : { id: { [Op.lt]: after } }),
          },
          order: [['id', 'DESC']],
          limit: limit + 1,
          ...joining(transaction),
        })
        .catch(translate);
      return toPage(
        rows.map((row) => row.get({ plain: true })),
        limit,
      );
    },

    /** Changes a row that the transaction has locked. */
    update: async (
      transaction: Transaction,
      id: string,
      change: TrustedIssuerChange,
    ): Promise<TrustedIssuer> => {
      const [, rows] = await model
        .update(
          { ...change, updatedAt: fn('now') },
          { where: { id }, transaction: transaction.sequelize, returning: true },
        )
        .catch(translate);
      const [row] = rows;
      if (row === undefined) throw new Error(`trusted issuer ${id} vanished although it was locked`);
      return row.get({ plain: true });
    },

    remove: async (transaction: Transaction, id: string): Promise<void> => {
      await model.destroy({ where: { id }, transaction: transaction.sequelize }).catch(translate);
    },
  };
}

export type TrustedIssuerStore = ReturnType<typeof createTrustedIssuerStore>;

function translate(error: unknown): never {
  if (violatedUnique(error) === 'trusted_issuers_issuer_unique')
    throw new ServiceError('conflict', { detail: 'This issuer is trusted already.', cause: error });
  throw translateDatabaseError(error);
}
