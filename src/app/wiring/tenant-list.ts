// Wires `countersign tenant list`: it reads one table, and loads no other room.
import { wireTenantList } from '../../identity/tenants/wire.ts';
import type { Config } from '../../platform/config.ts';
import { SILENT } from '../../platform/logging.ts';
import { openDatabase } from '../../platform/open-database.ts';

export function wireTenantListing(config: Config) {
  const { database } = openDatabase(config, { log: SILENT, name: 'command' });
  return { tenants: wireTenantList({ database }), close: () => database.close() };
}
