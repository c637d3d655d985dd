// SQL of the certificates of erased tenants, and of the audit rows that go with a tenant.
import { changed, done, many, one } from '../platform/database/statements.ts';
import type { AuditErasureRow } from './audit.model.ts';

const READ = 'SELECT tenant_id, slug, erased_at, statement, key_id, signature FROM audit_erasures';

/** Lists the certificates, the oldest first. */
export const list = many<AuditErasureRow>(`${READ} ORDER BY erased_at, tenant_id`);

/** Finds a certificate by the slug of an erased tenant, or its id. */
export const find = one<AuditErasureRow, [by: string]>(`${READ} WHERE slug = $1 OR tenant_id::text = $1`);

export const insert = done<
  [tenantId: string, slug: string, erasedAt: Date, statement: string, keyId: string, signature: Uint8Array]
>(`
INSERT INTO audit_erasures (tenant_id, slug, erased_at, statement, key_id, signature) VALUES ($1, $2, $3, $4, $5, $6)`);

/** Returns whether the tenant has rows that no checkpoint has yet. */
export const hasUnsealed = changed<[tenantId: string]>(`
SELECT 1 FROM audit_log l, audit_head h
WHERE l.tenant_id = $1 AND (l.xid, l.id) > (h.last_xid, h.last_id) LIMIT 1`);
