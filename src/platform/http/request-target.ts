// Reads the request's host and target by RFC 9112 §3.2, and bounds the number of header fields.
import { ServiceError } from '../errors/service-error.ts';
import { type Context, countHeader, type Middleware } from './request-state.ts';

/** The most header fields of a request. */
const MOST_FIELDS = 200;

/** `uri-host [ ":" port ]` of RFC 3986 §3.2.2: an address in brackets, or a name or IPv4 address. */
const HOST = /^(?:\[[\da-f:.]{2,45}\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2}){1,255})(?::\d{0,5})?$/i;

/**
 * What no URI has (RFC 3986 §2); a target has no fragment either. Percent escapes are judged where they are decoded.
 */
const NOT_IN_TARGET = /[^\x21-\x7e]|["#<>\\^`{|}]/;

const ABSOLUTE = /^https?:\/\/([^/?]+)([/?].*)?$/i;

/**
 * Sets the path. A target in absolute form is replaced by its origin form, and `Host` by the target's host.
 * @throws ServiceError `header_fields_too_large` for too many header fields; `invalid_request` for a target or a `Host`
 *   that RFC 9112 does not allow
 */
export function readTarget(): Middleware {
  return (ctx, next) => {
    if (ctx.req.rawHeaders.length > 2 * MOST_FIELDS)
      throw new ServiceError('header_fields_too_large', {
        detail: `There are more than ${MOST_FIELDS} header fields.`,
      });
    checkHost(ctx);
    checkTarget(ctx);
    // The path of a target such as `*` is null, although Koa's type says otherwise.
    ctx.state.path = (ctx.path as string | null) ?? '';
    return next();
  };
}

function checkHost(ctx: Context): void {
  const { host } = ctx.req.headers;
  if (host === undefined) {
    if (ctx.req.httpVersion === '1.1') throw refusal('The Host header is missing.');
    return;
  }
  if (countHeader(ctx, 'host') > 1) throw refusal('There is more than one Host header.');
  if (!HOST.test(host)) throw refusal('The Host header is no host with a port.');
}

function checkTarget({ req }: Context): void {
  const target = req.url ?? '';
  if (NOT_IN_TARGET.test(target)) throw refusal('The request target has a character that must be escaped.');
  if (target.startsWith('/')) return;
  if (target === '*' && req.method === 'OPTIONS') return;
  const [, authority = '', rest = ''] = ABSOLUTE.exec(target) ?? [];
  if (!HOST.test(authority))
    throw refusal('The request target is neither a path nor an http URL with a host.');
  req.url = rest.startsWith('/') ? rest : `/${rest}`;
  req.headers.host = authority;
}

function refusal(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail });
}
