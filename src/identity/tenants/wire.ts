// Wires tenants, and the command that creates a tenant with its first application.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createProvisionService } from './provision.service.ts';
import { createTenantRoutes } from './tenant.routes.ts';
import { createTenantService } from './tenant.service.ts';

export function wireTenants(
  { config, database }: Platform,
  rooms: Needs<typeof createTenantService, 'database' | 'addresses'>,
) {
  const tenants = createTenantService({ ...rooms, database, addresses: config });
  return { tenants, routes: createTenantRoutes({ tenants }) };
}

export function wireProvisioning(
  { database }: Platform,
  rooms: Needs<typeof createProvisionService, 'database'>,
) {
  return createProvisionService({ ...rooms, database });
}
