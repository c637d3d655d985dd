// Checks that api and worker connect as a role that cannot change the audit log, where there is one.
// docs/decisions/0023-database-roles.md
import type { Queryable } from '../../platform/database/transaction.ts';
import type * as databaseRoleStore from './database-role.store.ts';
import type { Check } from './finding.ts';

export function createDatabaseRoleCheck({
  database,
  store,
}: {
  database: Queryable;
  store: Pick<typeof databaseRoleStore, 'findStrongProcesses'>;
}): Check {
  return {
    name: 'databaseRole',
    title: 'the database role of api and worker',
    examine: async ({ found, looked }) => {
      looked(1);
      for (const { process, role, sessions } of await store.findStrongProcesses(database))
        await found({
          code: 'database_role_too_strong',
          subject: process,
          detail: `${sessions} sessions connect as ${role}, which may change the audit log: set DATABASE_URL to the role of DATABASE_ROLE (docs/deployment.md)`,
        });
    },
  };
}
