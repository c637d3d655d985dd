// Makes a POST repeatable: the first answer for an `idempotency-key` is stored with the work and sent again. Secrets
// are not stored.

import { createHash } from 'node:crypto';
import type { KeyScope } from '../answer-key.ts';
import type { RequestContext } from '../context.ts';
import type { Database } from '../database/database.ts';
import { invalidField, ServiceError } from '../errors/service-error.ts';
import { without } from '../json-values.ts';
import type { Perform, PerformKeyed } from './handler.ts';
import type { StoredAnswer } from './idempotency.store.ts';
import * as answers from './idempotency.store.ts';
import { RATE_LIMIT_FIELDS } from './rate-limit-headers.ts';
import type { Context } from './request-state.ts';
import type { HandlerResult, Route } from './route.ts';

const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Wraps a route's work. Work and answer commit in one transaction, which the services join through
 * `context.transaction`. Only 2xx answers are stored, for 24 hours, per tenant, principal and route.
 * @param options.keyed does the work of some requests and stores the answer in one statement
 * @throws ServiceError `idempotency_in_progress` while the first request runs, `idempotency_key_reused` for another
 *   request
 */
export function keepAnswers(
  route: Route,
  perform: Perform,
  { database, keyed }: { database: Pick<Database, 'transaction'>; keyed?: PerformKeyed | undefined },
): Perform {
  return async (ctx, context) => {
    const key = ctx.req.headers['idempotency-key'];
    if (key === undefined) return perform(ctx, context);
    if (typeof key !== 'string' || !KEY.test(key))
      throw invalidField('header.idempotency-key', 'must be 1 to 255 visible characters');
    const scope = scopeOf(route, context, key);
    const digest = digestOf(ctx);
    const done = await keyed?.(ctx, context, { scope, digest });
    if (done !== undefined) return done;
    return database.transaction(context, async (transaction) => {
      if (!(await answers.lock(transaction, scope)))
        throw new ServiceError('idempotency_in_progress', {
          detail: 'The first request with this idempotency key has not ended yet.',
          retryAfterSeconds: 1,
        });
      const kept = await answers.find(transaction, scope);
      if (kept !== undefined) return replay(kept, digest);
      const result = await perform(ctx, { ...context, transaction });
      if (result.status >= 200 && result.status < 300)
        await answers.save(transaction, scope, toStored(route, result, digest));
      return result;
    });
  };
}

function scopeOf(route: Route, { tenant, principal }: RequestContext, key: string): KeyScope {
  return {
    tenantId: tenant.id,
    principal: principal === undefined ? 'anonymous' : `${principal.kind}:${principal.subject}`,
    route: route.operationId,
    key,
  };
}

/** Requests are equal when method, path and body are equal; the order of members and white space do not count. */
function digestOf({ method, state }: Context): Buffer {
  const body = canonical(state.input?.sent);
  return createHash('sha256').update(`${method}\n${state.path}\n${body}`).digest();
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, part]) => `${JSON.stringify(name)}:${canonical(part)}`).join(',')}}`;
}

function replay(kept: StoredAnswer, digest: Buffer): HandlerResult {
  if (!digest.equals(kept.digest))
    throw new ServiceError('idempotency_key_reused', {
      detail: 'This idempotency key was used for another request.',
    });
  return {
    status: kept.status,
    headers: { ...kept.headers, 'idempotency-replayed': 'true' },
    ...(kept.body === null ? {} : { body: kept.body }),
  };
}

function toStored(route: Route, { status, headers, body }: HandlerResult, digest: Buffer): StoredAnswer {
  const kept = body === undefined ? null : JSON.stringify(without(body, route.secretFields ?? []));
  // Limit headers are not stored, because their values are outdated when the answer is repeated.
  const lasting = Object.entries(headers ?? {}).filter(([name]) => !RATE_LIMIT_FIELDS.has(name));
  return { digest, status, headers: Object.fromEntries(lasting), body: kept };
}
