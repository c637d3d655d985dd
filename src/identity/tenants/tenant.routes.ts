// The tenant's view of itself. It must never reach another tenant: the request's address and token decide which one it is.
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { presentTenant, tenantPatchSchema, tenantSchema } from './tenant.schemas.ts';
import type { TenantService } from './tenant.service.ts';

/** Routes of the tenant. Both need `tenant:write`: no narrower scope speaks of tenants. */
export function createTenantRoutes({ tenants }: { tenants: TenantService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/tenant',
      operationId: 'getTenant',
      summary: 'Read the tenant',
      tag: 'Tenant',
      scope: 'tenant:write',
      responses: { 200: { description: 'The tenant', schema: tenantSchema } },
      errors: ['not_found'],
      handler: async ({ context }) => ({
        status: 200,
        body: presentTenant(await tenants.get(context)),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/tenant',
      operationId: 'updateTenant',
      summary: 'Change the name, the audience or the signing algorithm',
      tag: 'Tenant',
      scope: 'tenant:write',
      request: { body: tenantPatchSchema },
      responses: { 200: { description: 'The tenant, changed', schema: tenantSchema } },
      errors: ['not_found'],
      handler: async ({ context, body }) => {
        const tenant = await tenants.update(context, {
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(body.audience === undefined ? {} : { audience: body.audience }),
          ...(body.signing_algorithm === undefined ? {} : { signingAlgorithm: body.signing_algorithm }),
        });
        return { status: 200, body: presentTenant(tenant) };
      },
    }),
  ];
}
