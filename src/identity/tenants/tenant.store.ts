// SQL of the tenants. No statement deletes a tenant, so a slug is never free again.
import { violatedUnique } from '../../platform/database/errors.ts';
import { type Models, NOW } from '../../platform/database/model.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { type NewTenantRow, TENANT } from './tenant.model.ts';
import type { TenantAddress, TenantRecord } from './tenant.ts';

/** The fields that can be changed. */
export type TenantChange = Partial<
  Pick<TenantRecord, 'name' | 'audience' | 'signingAlgorithm'> & TenantAddress
>;

/** Identifies one tenant. */
export type TenantName = { readonly slug: string } | { readonly id: string };

/** The error for a refused row, by the constraint that refused it. */
const REFUSALS: Readonly<Record<string, string>> = {
  tenants_slug_unique: 'This slug is taken. A slug is never used again.',
  tenants_base_url_unique: 'Another tenant has this address.',
  tenants_issuer_url_unique: 'Another tenant has this address.',
};

// A transaction that creates an endpoint locks the tenant FOR SHARE. So either the suspension finds the endpoint, or
// the endpoint is created as one of a suspended tenant.
const SUSPEND = `
UPDATE tenants SET suspended_at = now(), updated_at = now() WHERE id = $1 AND suspended_at IS NULL RETURNING id`;
const RESUME = `
UPDATE tenants SET suspended_at = NULL, resumed_at = now(), updated_at = now() WHERE id = $1 AND suspended_at IS NOT NULL RETURNING id`;

/** @throws ServiceError `conflict` when the slug or the address is taken */
export function insert(transaction: Transaction, tenant: NewTenantRow): Promise<TenantRecord> {
  return transaction.model(TENANT).insert(tenant).catch(refuse);
}

/** Changes the given fields. @returns the changed row, undefined when there is none */
export async function update(
  transaction: Transaction,
  id: string,
  change: TenantChange,
): Promise<TenantRecord | undefined> {
  const [row] = await transaction
    .model(TENANT)
    .update({ id }, { ...change, updatedAt: NOW })
    .catch(refuse);
  return row;
}

/** Reads a tenant and locks it until the transaction ends. */
export function lock(transaction: Transaction, by: TenantName): Promise<TenantRecord | undefined> {
  return transaction.model(TENANT).lock(by, 'NO KEY UPDATE');
}

/** @returns false when the tenant already had this state */
export async function setSuspended(unit: Queryable, id: string, suspended: boolean): Promise<boolean> {
  const { rowCount } = await unit.query(suspended ? SUSPEND : RESUME, [id]);
  return rowCount > 0;
}

/** The tenant with this slug or this id. One round trip. */
export function find(models: Models, by: TenantName): Promise<TenantRecord | undefined> {
  return models.model(TENANT).find(by);
}

/** All tenants, the oldest first. */
export function list(models: Models): Promise<TenantRecord[]> {
  return models.model(TENANT).list({ order: [['id', 'ASC']] });
}

function refuse(error: unknown): never {
  const detail = REFUSALS[violatedUnique(error) ?? ''];
  if (detail === undefined) throw error;
  throw new ServiceError('conflict', { detail, cause: error });
}
