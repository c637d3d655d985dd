// The audit log without its commonest entries: a page of the others would read past millions of them.
import type { MigrationStep } from '../migration-steps.ts';

/** The condition is that of `tokens=false` in audit-reading.store.ts. A sign-in and a token add nothing to the index. */
export const auditWithoutTokens: readonly MigrationStep[] = [
  {
    index: 'audit_log_without_tokens',
    on: `audit_log (tenant_id, id) WHERE action NOT IN ('auth.login.success', 'auth.token.issued')`,
  },
];
