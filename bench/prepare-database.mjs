// A new database as `countersign migrate` leaves it, but for Temporal: the schema, and the beginning of the audit log.
import { AuditBeginning } from '#dist/src/audit/beginning.service.js';
import { any } from '#dist/src/identity/tenants/tenant.store.js';
import { sealingKeys } from '#dist/src/platform/config-values.js';
import { createDatabase } from '#dist/src/platform/database/database.js';
import { migrate } from '#dist/src/platform/database/migrate.js';

/** @param auditKey that of the workers */
export async function prepareDatabase(url, auditKey) {
  await migrate(url);
  const database = createDatabase({ url, pool: 1, applicationName: 'bench' });
  await new AuditBeginning({
    database,
    auditKeys: sealingKeys.parse(auditKey),
    tenants: { any },
  }).begin();
  await database.close();
}
