// Answers 404 for a path with malformed or unknown ids, before the rest of the request is checked.
import { ServiceError } from '../errors/service-error.ts';
import { contextOf, type Middleware } from './request-state.ts';
import type { Route } from './route.ts';

/** Validates the path parameters, checks that the resource exists, and stores the parameters in `ctx.state.params`. */
export function findTarget({ request, exists }: Route): Middleware {
  const schema = request?.params;
  return async (ctx, next) => {
    if (schema === undefined) return next();
    const result = schema.safeParse(ctx.params);
    if (!result.success) throw unknownTarget();
    // The cast is safe: the type of the route's `params` is derived from this schema.
    const params = result.data as never;
    if (exists !== undefined && !(await exists(contextOf(ctx), params))) throw unknownTarget();
    ctx.state.params = params;
    return next();
  };
}

/** The same answer for a malformed id, an unknown id, and an id of another tenant. */
function unknownTarget(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is nothing with this id.' });
}
