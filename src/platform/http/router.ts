// Finds the route of a request. 404 and 405 come before the check of a token.
import { Router } from '@koa/router';
import compose from 'koa-compose';
import leven from 'leven';
import { ServiceError } from '../errors/service-error.ts';
import { isReadableAnywhere, setPreflight } from './cors.ts';
import { contextOf, type Middleware, type RequestState } from './request-state.ts';
import type { Route } from './route.ts';

/** The wrong letters of a path up to which a route counts as meant. */
const MOST_ERRORS = 2;

/** Set by the router: the routes of any method with a matching path. */
type Matched = {
  matched?: readonly { readonly methods: readonly string[]; readonly name?: string | undefined }[];
};

/**
 * @param routes the whole table
 * @param stages returns the middlewares of a route, in order
 * @returns the middleware of all routes, then that for requests without a route
 * @throws Error for two routes with one operationId, and for path parameters without a schema
 */
export function createRouter(routes: readonly Route[], stages: (route: Route) => Middleware[]): Middleware[] {
  checkTable(routes);
  const router = new Router<RequestState>({ exclusive: 'specificity', sensitive: true, strict: true });
  const fixed = new Map<string, Middleware>();
  for (const route of routes) {
    const name: Middleware = (ctx, next) => {
      ctx.state.operation = route.operationId;
      return next();
    };
    const all = [name, ...stages(route)];
    router.register(route.path, [route.method], all, { name: route.operationId });
    if (!/[:*(){}]/.test(route.path)) fixed.set(`${route.method} ${route.path}`, compose(all));
  }
  const open = new Set(routes.filter(isReadableAnywhere).map((route) => route.operationId));
  const suggest = createSuggestion(routes);
  return [takeFixedPath(fixed), useTenantPath, router.routes() as Middleware, refuseUnknown(open, suggest)];
}

/** Finds a path without parameters by one lookup. It has precedence over paths with parameters. */
function takeFixedPath(fixed: ReadonlyMap<string, Middleware>): Middleware {
  return (ctx, next) => {
    const run = fixed.get(`${ctx.method} ${ctx.state.path}`);
    if (run === undefined) return next();
    ctx.params = {};
    return run(ctx, next);
  };
}

/** Gives the router the path below the tenant's address, because routes do not contain that address. */
const useTenantPath: Middleware = (ctx, next) => {
  (ctx as { newRouterPath?: string }).newRouterPath = ctx.state.path;
  return next();
};

/**
 * @returns a function that finds the route that was meant by a path with a `/` at its end, without `/api/v1`, or with
 * up to two wrong letters
 */
function createSuggestion(routes: readonly Route[]) {
  const shapes = routes.map(({ path }) => ({ path, parts: path.split('/') }));
  return (path: string): string | undefined => {
    const bare = path.replace(/\/$/, '');
    const addresses = [bare, `/api/v1${bare}`, bare.replace(/^\/api\/v1/, '')];
    const near = addresses.flatMap((address) => {
      const asked = address.split('/');
      return shapes
        .filter(({ parts }) => parts.length === asked.length)
        .map((shape) => ({ path: shape.path, errors: countErrors(shape.parts, asked) }));
    });
    const [nearest] = near.sort((one, other) => one.errors - other.errors);
    if (nearest === undefined || nearest.errors > MOST_ERRORS) return undefined;
    return nearest.path.replace(/:([^/]+)/g, '{$1}');
  };
}

/** The wrong letters of a path; infinite where it is another one. */
function countErrors(parts: readonly string[], asked: readonly string[]): number {
  return parts.reduce((sum, part, n) => {
    const given = asked[n] ?? '';
    if (part.startsWith(':')) return given === '' ? Number.POSITIVE_INFINITY : sum;
    // Long texts are not compared: their distance costs more than the answer.
    if (Math.abs(part.length - given.length) > MOST_ERRORS) return Number.POSITIVE_INFINITY;
    return sum + (part === given ? 0 : leven(part, given));
  }, 0);
}

function refuseUnknown(open: ReadonlySet<string>, suggest: (path: string) => string | undefined): Middleware {
  return async (ctx) => {
    const { matched = [] } = ctx as Matched;
    if (matched.length === 0) {
      const meant = suggest(ctx.state.path);
      const hint =
        meant === undefined ? `${contextOf(ctx).tenant.baseUrl}/docs shows all` : `did you mean ${meant}?`;
      throw new ServiceError('not_found', { detail: `No such address; ${hint}` });
    }
    const methods = [...new Set(matched.flatMap((layer) => layer.methods)), 'OPTIONS'];
    const allow = methods.join(', ');
    if (ctx.method !== 'OPTIONS')
      throw new ServiceError('method_not_allowed', {
        detail: `This address takes ${allow}.`,
        headers: { allow },
      });
    ctx.res.setHeader('allow', allow);
    if (matched.some((layer) => open.has(layer.name ?? ''))) setPreflight(ctx.res, methods);
    ctx.status = 204;
  };
}

function checkTable(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const { operationId, path, request } of routes) {
    if (seen.has(operationId)) throw new Error(`Two routes are named ${operationId}.`);
    seen.add(operationId);
    if (path.includes(':') && request?.params === undefined)
      throw new Error(`${operationId} has path parameters but no schema for them.`);
  }
}
