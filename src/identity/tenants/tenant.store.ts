// SQL of tenants. The slug of a tenant that is erased stays taken, by a trigger.
import { violatedUnique } from '../../platform/database/errors.ts';
import { NOW } from '../../platform/database/model.ts';
import { changed, many, one } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { fansOut } from '../../webhooks/intake/fans-out.ts';
import { type NewTenantRow, TENANT } from './tenant.model.ts';
import type { FoundTenant, TenantAddress, TenantRecord } from './tenant.ts';
import type { RetentionSettings } from './tenant-retention.ts';

export type TenantChange = Partial<
  Pick<TenantRecord, 'name' | 'audience' | 'signingAlgorithm' | 'securityProfile' | 'subscriptionLimit'> &
    RetentionSettings &
    TenantAddress
>;

export type TenantName = { readonly slug: string } | { readonly id: string };

/** The error message for each constraint that can reject a row. */
const REFUSALS: Readonly<Record<string, string>> = {
  tenants_slug_unique: 'This slug is taken. A slug is never used again.',
  tenants_base_url_unique: 'Another tenant has this address.',
  tenants_issuer_url_unique: 'Another tenant has this address.',
};

// Statements and no model, because the command that lists tenants then needs no Sequelize, and because many are read
// together.
const COLUMNS = selectList(TENANT, columnNames(TENANT));
const FIND_BY = `SELECT ${COLUMNS}, ${fansOut('tenants.id')} AS fans_out FROM tenants`;
const findBy = {
  slug: many<FoundTenant, [slugs: readonly string[]]>(`${FIND_BY} WHERE slug = ANY ($1::text[])`),
  id: many<FoundTenant, [ids: readonly string[]]>(`${FIND_BY} WHERE id = ANY ($1::uuid[])`),
};

/** @throws ServiceError `conflict` when another tenant has the slug or the address */
export function insert(transaction: Transaction, tenant: NewTenantRow): Promise<TenantRecord> {
  return transaction.model(TENANT).insert(tenant).catch(refuse);
}

/** Changes the given fields. @returns the changed row; undefined when the tenant does not exist */
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

// A transaction that creates an endpoint locks the tenant FOR SHARE. Therefore the suspension finds the endpoint, or
// the endpoint is created for an already suspended tenant.
/** @returns false when the tenant is suspended already */
export const suspend = changed<[id: string]>(`
UPDATE tenants SET suspended_at = now(), updated_at = now() WHERE id = $1 AND suspended_at IS NULL RETURNING id`);

/** @returns false when the tenant is not suspended */
export const resume = changed<[id: string]>(`
UPDATE tenants SET suspended_at = NULL, resumed_at = now(), updated_at = now()
WHERE id = $1 AND suspended_at IS NOT NULL RETURNING id`);

const endAll = many<Pick<TenantRecord, 'id'>>(
  'UPDATE tenants SET resumed_at = now(), updated_at = now() RETURNING id',
);

/** Ends what was begun before, of all tenants, as a suspension that ends now does. @returns their ids, in order */
export const endEarlier = async (unit: Queryable): Promise<string[]> =>
  (await endAll(unit)).map(({ id }) => id).sort();

/** Removes a tenant that the transaction has locked, and whose other rows are gone. */
export async function remove(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(TENANT).remove({ id });
}

/** Returns whether there is a tenant. */
export const any = changed('SELECT 1 FROM tenants LIMIT 1');

const holdState = one<{ isSuspended: boolean }, [id: string]>(
  'SELECT suspended_at IS NOT NULL AS is_suspended FROM tenants WHERE id = $1 FOR SHARE',
);

/** Returns whether the tenant is suspended, and keeps that so until the transaction ends. */
export const isSuspended = async (unit: Queryable, id: string): Promise<boolean> =>
  (await holdState(unit, id))?.isSuspended === true;

/** Returns whether an application that authenticates with a key could change the tenant. */
export const hasManagingKey = changed<[id: string]>(`
SELECT 1 FROM applications WHERE tenant_id = $1 AND deleted_at IS NULL
  AND jwks @? '$.keys[*] ? (@.alg != "RS256")'
  AND agent_id IS NULL AND 'client_credentials' = ANY(grant_types) AND 'tenant:write' = ANY(scopes) LIMIT 1`);

/** Reads the tenants with these slugs or ids. One round trip. @returns one for each, undefined where there is none */
export async function find(
  queryable: Queryable,
  by: 'slug' | 'id',
  names: readonly string[],
): Promise<(FoundTenant | undefined)[]> {
  const rows = await findBy[by](queryable, [...new Set(names)]);
  const found = new Map(rows.map((tenant) => [tenant[by], tenant]));
  return names.map((name) => found.get(name));
}

/** Lists all tenants, oldest first. */
export const list = many<TenantRecord>(`SELECT ${COLUMNS} FROM tenants ORDER BY id`);

function refuse(error: unknown): never {
  const detail = REFUSALS[violatedUnique(error) ?? ''];
  if (detail === undefined) throw error;
  throw new ServiceError('conflict', { detail, cause: error });
}
