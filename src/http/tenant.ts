// Resolves the tenant that the address names, and begins the RequestContext. An address without a tenant is 404 for everybody.
import type { Tenant } from '../context.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { Middleware } from './request-state.ts';
import type { TenantLocation } from './tenant-locator.ts';

/**
 * @param locate tells slug and remaining path from the `Host` header and the raw path
 * @param bySlug looks a tenant up
 */
export function resolveTenant(
  locate: (host: string, path: string) => TenantLocation,
  bySlug: (slug: string) => Promise<Tenant | undefined>,
): Middleware {
  return async (ctx, next) => {
    const { headers } = ctx.req;
    const { slug, path } = locate(headers.host ?? '', ctx.path);
    const { state } = ctx;
    state.path = path;
    const tenant = slug === undefined ? undefined : await bySlug(slug);
    if (tenant === undefined) throw new ServiceError('not_found', { detail: 'No such address.' });
    state.context = {
      requestId: state.requestId,
      tenant,
      address: state.address,
      userAgent: headers['user-agent'],
    };
    return next();
  };
}
