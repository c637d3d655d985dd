// Refuses requests beyond a rate limit. limit-counts.ts counts the requests, failure-limiter.ts counts wrong
// credentials.
import { addressGroup } from '../address-group.ts';
import { ServiceError } from '../errors/service-error.ts';
import { isReadableAnywhere } from './cors.ts';
import type { LimitCounts } from './limit-counts.ts';
import { describeLimit, setHeaders } from './rate-limit-headers.ts';
import { contextOf, type Middleware } from './request-state.ts';
import type { RequestTurns } from './request-turns.ts';
import { type Route, takesToken } from './route.ts';

const WINDOW_SECONDS = 60;

type RateLimiterNeeds = {
  name: string;
  points: number;
  counts: Pick<LimitCounts, 'open'>;
  onRefused?: ((limit: string) => void) | undefined;
};

/**
 * Limits the points of each key in windows of a minute. The first request of a key begins its window.
 * @param name of the policy in its header fields
 * @param points a minute; 0 turns the limit off
 * @param counts the counts that all processes share
 * @param onRefused called for each refused request
 */
export function createRateLimiter({ name, points, counts, onRefused }: RateLimiterNeeds) {
  if (points === 0) return undefined;
  const limit = { name, points, window: WINDOW_SECONDS };
  const counter = counts.open({ name, points, window: WINDOW_SECONDS * 1_000 });
  return {
    /**
     * Takes `cost` points of `key`, or none if fewer remain. It needs no round trip.
     * @returns the fields `ratelimit` (points that remain, and seconds until all are available again) and
     *   `ratelimit-policy`
     * @throws ServiceError `rate_limited`, whose `headers` have both fields
     */
    take(key: string, cost = 1): Readonly<Record<string, string>> {
      const { isAdmitted, used, milliseconds } = counter.spend(key, cost);
      // A rounding error of the clock must not exceed a window.
      const seconds = Math.min(WINDOW_SECONDS, Math.max(1, Math.ceil(milliseconds / 1_000)));
      const headers = describeLimit(limit, { left: points - used, seconds });
      if (isAdmitted) return headers;
      onRefused?.(name);
      throw new ServiceError('rate_limited', {
        detail:
          cost > points
            ? `This request counts as ${cost}, and ${points} a minute are allowed.`
            : `More than ${points} a minute.`,
        retryAfterSeconds: seconds,
        headers,
      });
    },
  };
}

type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * `tenant`: requests of a tenant with a valid access token. `anonymous`: those that need none. `refused`: those that
 * reach no route, or whose token is refused.
 */
export type RateLimits = Readonly<Record<'address' | 'tenant' | 'anonymous' | 'refused', RateLimiter>>;

/** The shares of a tenant's limit that are for requests of anybody. */
const SHARES = { anonymous: 1 / 2, refused: 1 / 10 } as const;

/** @param limits requests a minute of one tenant, and of one address (an IPv6 client is its /64 network) */
export function createRateLimits(
  limits: { tenant: number; address: number },
  counts: Pick<LimitCounts, 'open'>,
  onRefused?: ((limit: string) => void) | undefined,
): RateLimits {
  const create = (name: string, points: number) => createRateLimiter({ name, points, counts, onRefused });
  return {
    address: create('address', limits.address),
    tenant: create('tenant', limits.tenant),
    anonymous: create('tenant-anonymous', Math.ceil(limits.tenant * SHARES.anonymous)),
    refused: create('tenant-refused', Math.ceil(limits.tenant * SHARES.refused)),
  };
}

/** Limits the requests of one client address. Source: draft-ietf-httpapi-ratelimit-headers-10. */
export function limitAddress({ address: limiter }: RateLimits): Middleware {
  if (limiter === undefined) return (_ctx, next) => next();
  return async (ctx, next) => {
    setHeaders(ctx.res, limiter.take(addressGroup(ctx.state.address)));
    return next();
  };
}

/**
 * Limits the admitted requests to one tenant. Public documents have no limit, because other services need them to
 * verify tokens. The fields are appended to those of the address limit.
 */
export function limitTenant(route: Route, { tenant, anonymous }: RateLimits): Middleware {
  const limiter = isReadableAnywhere(route) ? undefined : takesToken(route) ? tenant : anonymous;
  return (ctx, next) => {
    ctx.state.isAdmitted = true;
    if (limiter !== undefined) setHeaders(ctx.res, limiter.take(contextOf(ctx).tenant.id));
    return next();
  };
}

/**
 * Limits the requests to one tenant that are refused before `limitTenant` has admitted them.
 * @param turns lets the refusal wait for a turn of the tenant, so that a stranger's next request comes later
 */
export function limitRefused(
  { refused: limiter }: RateLimits,
  turns?: Pick<RequestTurns, 'take'> | undefined,
): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (ctx.state.isAdmitted || !isFaultOfCaller(error)) throw error;
      const { id } = contextOf(ctx).tenant;
      await turns?.take(id, () => Promise.resolve());
      if (limiter !== undefined) setHeaders(ctx.res, limiter.take(id));
      throw error;
    }
  };
}

function isFaultOfCaller(error: unknown): boolean {
  return error instanceof ServiceError && error.code !== 'temporarily_unavailable';
}
