// Wires tenants, their list alone, and the command that creates a tenant with its first application.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createProvisionService } from './provision.service.ts';
import { createTenantRoutes } from './tenant.routes.ts';
import { createTenantService } from './tenant.service.ts';
import * as store from './tenant.store.ts';

export function wireTenants(
  { config, database }: Platform,
  rooms: Needs<typeof createTenantService, 'database' | 'addresses'>,
) {
  const tenants = createTenantService({ ...rooms, database, addresses: config });
  return { tenants, routes: createTenantRoutes({ tenants }) };
}

/** Wires the list of all tenants alone, for a command that changes nothing. */
export function wireTenantList({ database }: Pick<Platform, 'database'>) {
  return { list: () => store.list(database) };
}

export function wireProvisioning(
  { database }: Platform,
  rooms: Needs<typeof createProvisionService, 'database'>,
) {
  return createProvisionService({ ...rooms, database });
}
