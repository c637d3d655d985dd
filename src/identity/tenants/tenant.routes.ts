// The routes with which a tenant reads and changes its settings.
import { ok } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { presentTenant, tenantPatchSchema, tenantSchema } from './tenant.schemas.ts';
import type { TenantService } from './tenant.service.ts';

const COMMON = {
  tag: 'Tenant',
  about: 'The settings of the tenant at whose address the request is made.',
  read: 'tenant:read',
  write: 'tenant:write',
} as const;

export function createTenantRoutes({ tenants }: { tenants: TenantService }): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/api/v1/tenant',
      operationId: 'getTenant',
      summary: 'Read the tenant',
      responses: { 200: { description: 'The tenant', schema: tenantSchema } },
      handler: async ({ context }) => ok(presentTenant(await tenants.get(context), tenants)),
    },
    {
      method: 'PATCH',
      path: '/api/v1/tenant',
      operationId: 'updateTenant',
      summary:
        'Change the name, the audience, the signing algorithm, the security profile or how long rows are kept',
      request: { body: tenantPatchSchema },
      errors: ['conflict'],
      responses: { 200: { description: 'The tenant, changed', schema: tenantSchema } },
      handler: async ({ context, body: { retention, ...body } }) => {
        const changed = await tenants.update(context, readFields({ ...body, ...retention }));
        return ok(presentTenant(changed, tenants));
      },
    },
  ]);
}
