// SQL of workload issuers and of used assertions. All but the purge and the list of operators is bound to one tenant.
import { Op } from 'sequelize';
import { violatedUnique } from '../../platform/database/errors.ts';
import { asked, type Models, NOW } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { IssuerAddress } from '../trusted-issuers/trusted-issuer.ts';
import { type NewWorkloadIssuerRow, WORKLOAD_ISSUER } from './workload-issuer.model.ts';
import type { WorkloadIssuer } from './workload-issuer.ts';

export type WorkloadIssuerChange = Pick<WorkloadIssuer, 'jwksUri' | 'jwks' | 'audiences' | 'rules'>;

/** A row is kept this long after its expiry, because the clocks of processes and the database differ. */
const MARGIN = "interval '5 minutes'";

/** @throws ServiceError `conflict` when the tenant already trusts the issuer */
export function insert(transaction: Transaction, row: NewWorkloadIssuerRow): Promise<WorkloadIssuer> {
  return transaction.model(WORKLOAD_ISSUER).insert(row).catch(refuse);
}

export function find(models: Models, tenantId: string, id: string): Promise<WorkloadIssuer | undefined> {
  return models.model(WORKLOAD_ISSUER).find({ id, tenantId });
}

/** Returns whether the workload issuer exists. One indexed read. */
export async function exists(queryable: Queryable, tenantId: string, id: string): Promise<boolean> {
  const { rowCount } = await queryable.query(
    'SELECT 1 FROM workload_issuers WHERE id = $1 AND tenant_id = $2',
    [id, tenantId],
  );
  return rowCount > 0;
}

/** Reads a workload issuer and locks it until the transaction ends: against any lock, or against changes only. */
export function lock(
  transaction: Transaction,
  tenantId: string,
  id: string,
  purpose: 'change' | 'use',
): Promise<WorkloadIssuer | undefined> {
  return transaction
    .model(WORKLOAD_ISSUER)
    .lock({ id, tenantId }, purpose === 'change' ? 'UPDATE' : 'KEY SHARE');
}

/** Finds the issuers with one of these names. */
export function findByNames(
  models: Models,
  tenantId: string,
  issuers: readonly string[],
): Promise<WorkloadIssuer[]> {
  return models.model(WORKLOAD_ISSUER).list({ where: { tenantId, issuer: { [Op.in]: [...issuers] } } });
}

/** Lists workload issuers, newest first. @throws ServiceError `invalid_request` for a foreign cursor */
export function list(
  models: Models,
  tenantId: string,
  { issuer, ...request }: PageRequest & { readonly issuer?: string | undefined },
): Promise<Page<WorkloadIssuer>> {
  return models.model(WORKLOAD_ISSUER).page({ tenantId, ...asked({ issuer }) }, request);
}

/** Changes a row that the transaction has locked. */
export function update(
  transaction: Transaction,
  id: string,
  change: WorkloadIssuerChange,
): Promise<WorkloadIssuer> {
  return transaction.model(WORKLOAD_ISSUER).change(id, { ...change, updatedAt: NOW });
}

export async function remove(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(WORKLOAD_ISSUER).remove({ id });
}

/** Records the use of an assertion. @param use.expiresAt Unix seconds @returns false when it was used before */
export async function insertUse(
  unit: Transaction,
  use: { readonly tenantId: string; readonly hash: Uint8Array; readonly expiresAt: number },
): Promise<boolean> {
  const { rowCount } = await unit.query(
    `INSERT INTO workload_assertions (tenant_id, hash, expires_at) VALUES ($1, $2, to_timestamp($3::float8))
         ON CONFLICT (tenant_id, hash) DO NOTHING`,
    [use.tenantId, use.hash, use.expiresAt],
  );
  return rowCount === 1;
}

/** Deletes expired uses. @returns the number deleted, at most `limit` */
export async function purge(queryable: Queryable, limit: number): Promise<number> {
  const { rowCount } = await queryable.query(
    `DELETE FROM workload_assertions used USING (
           SELECT tenant_id, hash FROM workload_assertions WHERE expires_at < now() - ${MARGIN}
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         ) AS old
         WHERE used.tenant_id = old.tenant_id AND used.hash = old.hash`,
    [limit],
  );
  return rowCount;
}

/** Lists where the keys of all tenants' issuers are, but for suspended tenants. For operators. */
export async function listAddresses(queryable: Queryable): Promise<IssuerAddress[]> {
  const { rows } = await queryable.query<IssuerAddress>(
    `SELECT i.id, i.tenant_id AS "tenantId", 'workload issuer' AS kind, i.issuer, i.jwks_uri AS uri
       FROM workload_issuers i JOIN tenants t ON t.id = i.tenant_id
       WHERE i.jwks_uri IS NOT NULL AND t.suspended_at IS NULL ORDER BY i.tenant_id, i.id`,
  );
  return rows;
}

function refuse(error: unknown): never {
  if (violatedUnique(error) === 'workload_issuers_issuer_unique')
    throw new ServiceError('conflict', { detail: 'This issuer is trusted already.', cause: error });
  throw error;
}
