// Wires `countersign tenant list`: it reads one table, and loads no other room.
import type { Logger } from 'pino';
import { wireTenantList } from '../../identity/tenants/wire.ts';
import type { Config } from '../../platform/config.ts';
import { openPlatform } from '../../platform/platform.ts';

export function wireTenantListing(config: Config, logger: Logger) {
  const platform = openPlatform(config, { logger, name: 'command' });
  return { tenants: wireTenantList(platform), close: () => platform.close() };
}
