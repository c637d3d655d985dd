// All SQL of the tenants. A slug is never freed: there is no deletion here.
import { violatedUnique } from '../../platform/database/errors.ts';
import { type Models, NOW } from '../../platform/database/model.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { type NewTenantRow, TENANT } from './tenant.model.ts';
import type { TenantAddress, TenantRecord } from './tenant.ts';

/** What a change may touch. */
export type TenantChange = Partial<
  Pick<TenantRecord, 'name' | 'audience' | 'signingAlgorithm'> & TenantAddress
>;

/** Names one tenant. */
export type TenantName = { readonly slug: string } | { readonly id: string };

/** Why a tenant's row was refused, by the constraint that refused it. */
const REFUSALS: Readonly<Record<string, string>> = {
  tenants_slug_unique: 'This slug is taken. A slug is never used again.',
  tenants_base_url_unique: 'Another tenant has this address.',
  tenants_issuer_url_unique: 'Another tenant has this address.',
};

// A transaction that makes an endpoint holds the tenant FOR SHARE: the suspension sees the endpoint, or the endpoint the suspension.
const SUSPEND = `
UPDATE tenants SET suspended_at = now(), updated_at = now() WHERE id = $1 AND suspended_at IS NULL RETURNING id`;
const RESUME = `
UPDATE tenants SET suspended_at = NULL, resumed_at = now(), updated_at = now() WHERE id = $1 AND suspended_at IS NOT NULL RETURNING id`;

/** @throws ServiceError `conflict` when the slug or the address is taken */
export function insert(transaction: Transaction, tenant: NewTenantRow): Promise<TenantRecord> {
  return transaction.model(TENANT).insert(tenant).catch(refuse);
}

/** Changes the given fields. @returns the row afterwards, undefined when there is none */
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

/** Reads a tenant and keeps others from changing it until the transaction ends. */
export function lock(transaction: Transaction, by: TenantName): Promise<TenantRecord | undefined> {
  return transaction.model(TENANT).lock(by, 'NO KEY UPDATE');
}

/** @returns false when it was so already */
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
