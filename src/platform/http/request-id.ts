// Gives every request its id and its state. It runs first, so that every answer has `x-request-id`.
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
 * Sets `x-request-id` on the answer. Source: Specification, "Errors: Format".
 * @param addressOf returns the client's address for the address of the connection and `X-Forwarded-For`
 */
export function identifyRequest(
  addressOf: (remote: string | undefined, forwardedFor: string | undefined) => string,
): Middleware {
  return (ctx, next) => {
    const { headers, socket } = ctx.req;
    const requestId = requestIdOf(headers['x-request-id']);
    ctx.res.setHeader('x-request-id', requestId);
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
