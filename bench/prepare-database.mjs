// A new database as `countersign migrate` leaves it, but for Temporal: the schema, and the beginning of the audit log.
import { createAuditBeginning } from '#dist/src/audit/beginning.service.js';
import { any } from '#dist/src/identity/tenants/tenant.store.js';
import { masterKeys } from '#dist/src/platform/config-values.js';
import { createDatabase } from '#dist/src/platform/database/database.js';
import { migrate } from '#dist/src/platform/database/migrate.js';

/** @param masterKey that of the service */
export async function prepareDatabase(url, masterKey) {
  await migrate(url);
  const database = createDatabase({ url, pool: 1, applicationName: 'bench' });
  await createAuditBeginning({
    database,
    masterKeys: masterKeys.parse(masterKey),
    tenants: { any },
  }).begin();
  await database.close();
}
