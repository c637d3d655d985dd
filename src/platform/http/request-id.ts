// Gives every request its id and its state. It runs first, so that every answer has its headers.
import { newId } from '../database/ids.ts';
import type { Middleware } from './request-state.ts';

const VISIBLE = /^[\x21-\x7e]{1,128}$/;

/**
 * @returns the id of the caller if it has 1–128 visible characters, else a new UUID. These grow with time, and so does
 *   their index of the audit log
 */
export function requestIdOf(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && VISIBLE.test(sent) ? sent : newId();
}

/**
 * Sets `x-request-id` on the answer (Specification, "Errors: Format"), and the headers that a route can replace: no
 * cache (RFC 6749 §5.1 requires it of token answers), and no content sniffing.
 * @param addressOf returns the client's address for the address of the connection and `X-Forwarded-For`
 */
export function identifyRequest(
  addressOf: (remote: string | undefined, forwardedFor: string | undefined) => string,
): Middleware {
  return (ctx, next) => {
    const { headers, socket } = ctx.req;
    const requestId = requestIdOf(headers['x-request-id']);
    ctx.res.setHeader('x-request-id', requestId);
    ctx.res.setHeader('cache-control', 'no-store');
    ctx.res.setHeader('x-content-type-options', 'nosniff');
    const forwardedFor = headers['x-forwarded-for'];
    const { state } = ctx;
    state.requestId = requestId;
    state.address = addressOf(
      socket.remoteAddress,
      typeof forwardedFor === 'string' ? forwardedFor : undefined,
    );
    state.path = '';
    return next();
  };
}
