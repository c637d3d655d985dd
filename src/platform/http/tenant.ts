// Resolves the tenant of the address and creates the RequestContext. An address without a tenant is 404.
import type { Tenant } from '../context.ts';
import { ServiceError } from '../errors/service-error.ts';
import { contextOf, type Middleware } from './request-state.ts';
import type { RequestTurns } from './request-turns.ts';
import type { Route } from './route.ts';
import type { TenantLocation } from './tenant-locator.ts';

/**
 * Sets the tenant's slug and the path below its address. It runs before the limits and the first query, because that
 * path decides the form of every error, also of 429 and 503.
 * @param locate returns both for the `Host` header and the raw path
 */
export function locateTenant(locate: (host: string, path: string) => TenantLocation): Middleware {
  return (ctx, next) => {
    const { slug, path } = locate(ctx.req.headers.host ?? '', ctx.path);
    ctx.state.slug = slug;
    ctx.state.path = path;
    return next();
  };
}

/** Reads a tenant. `evenOld`: while the database does not answer, the row may be as old as this process. */
export type FindTenant = (slug: string, options: { evenOld: boolean }) => Promise<Tenant | undefined>;

/** Public documents of an issuer hardly change. Resource servers need them also while the database is away. */
const DOCUMENTS = '/.well-known/';

/**
 * @param bySlug reads a tenant
 * @param turns say when the request may begin
 */
export function resolveTenant(bySlug: FindTenant, turns?: Pick<RequestTurns, 'start'>): Middleware {
  return async (ctx, next) => {
    const { headers } = ctx.req;
    const { state } = ctx;
    const { slug, path } = state;
    const evenOld = path.startsWith(DOCUMENTS);
    const tenant = slug === undefined ? undefined : await bySlug(slug, { evenOld });
    const start = turns?.start(tenant?.id);
    if (start !== undefined) await start;
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

/** Refuses requests while the tenant is suspended, except at routes that others need in order to refuse its tokens. */
export function refuseSuspended({ whileSuspended }: Route): Middleware {
  return (ctx, next) => {
    if (contextOf(ctx).tenant.suspended && !whileSuspended)
      throw new ServiceError('policy_denied', { detail: 'The tenant is suspended.' });
    return next();
  };
}
