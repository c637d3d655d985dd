// SQL that finds processes whose role may do more than the role that migrate has granted rights to.
import type { Queryable } from '../../platform/database/transaction.ts';

/** `sessions` of `process` (its name in pg_stat_activity) connect as `role`. */
export type StrongProcess = { readonly process: string; readonly role: string; readonly sessions: number };

// Only where some role has rights beside the owner, because without one there is nothing to prefer. Names of sessions
// can be read without further rights.
const STRONG = `
SELECT a.application_name AS process, a.usename AS role, count(*)::int AS sessions
FROM pg_stat_activity a, pg_class log
WHERE log.oid = to_regclass('audit_log') AND a.datname = current_database()
  AND a.application_name IN ('countersign api', 'countersign worker')
  AND EXISTS (SELECT 1 FROM aclexplode(log.relacl) g WHERE g.grantee NOT IN (0, log.relowner) AND g.privilege_type = 'INSERT')
  AND (pg_has_role(a.usesysid, log.relowner, 'MEMBER') OR has_table_privilege(a.usesysid, log.oid, 'UPDATE, DELETE, TRUNCATE'))
GROUP BY 1, 2 ORDER BY 1, 2`;

export async function findStrongProcesses(queryable: Queryable): Promise<StrongProcess[]> {
  return (await queryable.query<StrongProcess>(STRONG)).rows;
}
