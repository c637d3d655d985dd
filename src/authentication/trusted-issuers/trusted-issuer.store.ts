// SQL of trusted issuers. Each statement is bound to one tenant, but for the list of operators.
import { violatedUnique } from '../../platform/database/errors.ts';
import { existenceIn } from '../../platform/database/existence.ts';
import { asked, type Models, NOW } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { type NewTrustedIssuerRow, TRUSTED_ISSUER } from './trusted-issuer.model.ts';
import type { IssuerAddress, TrustedIssuer } from './trusted-issuer.ts';

export type TrustedIssuerChange = Pick<TrustedIssuer, 'jwksUri' | 'jwks' | 'audiences'>;

/** @throws ServiceError `conflict` when the tenant already trusts the issuer */
export function insert(transaction: Transaction, row: NewTrustedIssuerRow): Promise<TrustedIssuer> {
  return transaction.model(TRUSTED_ISSUER).insert(row).catch(refuse);
}

export function find(models: Models, tenantId: string, id: string): Promise<TrustedIssuer | undefined> {
  return models.model(TRUSTED_ISSUER).find({ id, tenantId });
}

export const exists = existenceIn('trusted_issuers');

/** Reads a trusted issuer and locks it until the transaction ends. */
export function lock(
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<TrustedIssuer | undefined> {
  return transaction.model(TRUSTED_ISSUER).lock({ id, tenantId }, 'UPDATE');
}

/** Finds the trusted issuer of tokens with this `iss`. */
export function findByIssuer(
  models: Models,
  tenantId: string,
  issuer: string,
): Promise<TrustedIssuer | undefined> {
  return models.model(TRUSTED_ISSUER).find({ tenantId, issuer });
}

/** Lists trusted issuers, newest first. @throws ServiceError `invalid_request` for a foreign cursor */
export function list(
  models: Models,
  tenantId: string,
  { issuer, ...request }: PageRequest & { readonly issuer?: string | undefined },
): Promise<Page<TrustedIssuer>> {
  return models.model(TRUSTED_ISSUER).page({ tenantId, ...asked({ issuer }) }, request);
}

/** Changes a row that the transaction has locked. */
export function update(
  transaction: Transaction,
  id: string,
  change: TrustedIssuerChange,
): Promise<TrustedIssuer> {
  return transaction.model(TRUSTED_ISSUER).change(id, { ...change, updatedAt: NOW });
}

export async function remove(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(TRUSTED_ISSUER).remove({ id });
}

/** Lists where the keys of all tenants' issuers are, but for suspended tenants. For operators. */
export async function listAddresses(queryable: Queryable): Promise<IssuerAddress[]> {
  const { rows } = await queryable.query<IssuerAddress>(
    `SELECT i.id, i.tenant_id AS "tenantId", 'trusted issuer' AS kind, i.issuer, i.jwks_uri AS uri
       FROM trusted_issuers i JOIN tenants t ON t.id = i.tenant_id
       WHERE i.jwks_uri IS NOT NULL AND t.suspended_at IS NULL ORDER BY i.tenant_id, i.id`,
  );
  return rows;
}

function refuse(error: unknown): never {
  if (violatedUnique(error) === 'trusted_issuers_issuer_unique')
    throw new ServiceError('conflict', { detail: 'This issuer is trusted already.', cause: error });
  throw error;
}
