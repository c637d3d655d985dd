// SQL of the certificates of erased tenants, and of the audit rows that go with a tenant.
import type { Queryable } from '../platform/database/transaction.ts';
import { bytes } from './checkpoint.store.ts';
import type { Erasure } from './erasure.ts';

export type Certificate = Pick<Erasure, 'tenantId' | 'slug' | 'erasedAt'> & {
  readonly statement: string;
  readonly keyId: string;
  readonly signature: Uint8Array;
};

const READ = `
SELECT tenant_id AS "tenantId", slug, erased_at AS "erasedAt", statement, key_id AS "keyId", signature FROM audit_erasures`;

/** Lists the certificates, the oldest first. */
export async function list(queryable: Queryable): Promise<Certificate[]> {
  return (await queryable.query<Certificate>(`${READ} ORDER BY erased_at, tenant_id`)).rows;
}

/** @param by the slug of an erased tenant, or its id */
export async function find(queryable: Queryable, by: string): Promise<Certificate | undefined> {
  return (await queryable.query<Certificate>(`${READ} WHERE slug = $1 OR tenant_id::text = $1`, [by]))
    .rows[0];
}

export async function insert(unit: Queryable, certificate: Certificate): Promise<void> {
  const { tenantId, slug, erasedAt, statement, keyId, signature } = certificate;
  await unit.query(
    `INSERT INTO audit_erasures (tenant_id, slug, erased_at, statement, key_id, signature)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [tenantId, slug, erasedAt, statement, keyId, bytes(signature)],
  );
}

/** Returns whether the tenant has rows that no checkpoint has yet. */
export async function hasUnsealed(queryable: Queryable, tenantId: string): Promise<boolean> {
  const { rowCount } = await queryable.query(
    `SELECT 1 FROM audit_log l, audit_head h
     WHERE l.tenant_id = $1 AND (l.xid, l.id) > (h.last_xid, h.last_id) LIMIT 1`,
    [tenantId],
  );
  return rowCount > 0;
}
