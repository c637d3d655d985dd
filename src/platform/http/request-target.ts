// Reads the request's target. Refuses targets that Node's parser accepts but that no route can match.
import { ServiceError } from '../errors/service-error.ts';
import type { Context, Middleware } from './request-state.ts';

/** The most header fields of a request. */
const MOST_FIELDS = 200;

/**
 * Sets the path.
 * @throws ServiceError `header_fields_too_large` for too many header fields; `invalid_request` for a target that is no URL, and for HTTP/1.1 without `Host` (RFC 9112 §3.2)
 */
export function readTarget(): Middleware {
  return (ctx, next) => {
    if (ctx.req.rawHeaders.length > 2 * MOST_FIELDS)
      throw new ServiceError('header_fields_too_large', {
        detail: `There are more than ${MOST_FIELDS} header fields.`,
      });
    if (ctx.req.headers.host === undefined && ctx.req.httpVersion === '1.1')
      throw new ServiceError('invalid_request', { detail: 'The Host header is missing.' });
    ctx.state.path = pathOf(ctx);
    return next();
  };
}

function pathOf(ctx: Context): string {
  try {
    // The path of a target such as `*` is null, although Koa's type says otherwise.
    return (ctx.path as string | null) ?? '';
  } catch (error) {
    throw new ServiceError('invalid_request', { detail: 'The request target is malformed.', cause: error });
  }
}
