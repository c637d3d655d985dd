// Wires `countersign tenant list`: it reads one table, and loads no other room.
import { list } from '../../identity/tenants/tenant.store.ts';
import type { Config } from '../../platform/config.ts';
import { SILENT } from '../../platform/logging.ts';
import { openDatabase } from '../../platform/opening/open-database.ts';

export function wireTenantListing(config: Config) {
  const { database } = openDatabase(config, { log: SILENT, name: 'command' });
  return { tenants: { list: () => list(database) }, close: () => database.close() };
}
