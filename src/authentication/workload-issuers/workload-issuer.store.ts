// SQL of workload issuers and of used assertions. All but purge and list of operators are bound to one tenant.
import { Op } from 'sequelize';
import { violatedUnique } from '../../platform/database/errors.ts';
import { existenceIn } from '../../platform/database/existence.ts';
import { asked, type Models, NOW } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { createUsedOnce } from '../../platform/database/used-once.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { IssuerAddress } from '../trusted-issuers/trusted-issuer.ts';
import { type NewWorkloadIssuerRow, WORKLOAD_ISSUER } from './workload-issuer.model.ts';
import type { WorkloadIssuer } from './workload-issuer.ts';

export type WorkloadIssuerChange = Pick<WorkloadIssuer, 'jwksUri' | 'jwks' | 'audiences' | 'rules'>;

/** Used assertions, by tenant. */
export const usedAssertions = createUsedOnce('workload_assertions', ['tenant_id', 'hash']);

/** @throws ServiceError `conflict` when the tenant already trusts the issuer */
export function insert(transaction: Transaction, row: NewWorkloadIssuerRow): Promise<WorkloadIssuer> {
  return transaction.model(WORKLOAD_ISSUER).insert(row).catch(refuse);
}

export function find(models: Models, tenantId: string, id: string): Promise<WorkloadIssuer | undefined> {
  return models.model(WORKLOAD_ISSUER).find({ id, tenantId });
}

export const exists = existenceIn('workload_issuers');

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
