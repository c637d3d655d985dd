// Refuses requests beyond a rate limit. limit-counts.ts counts the requests, failure-limiter.ts counts wrong
// credentials.
import { addressGroup } from '../address-group.ts';
import { createBoundedCache } from '../bounded-cache.ts';
import { clientNameOf } from '../context.ts';
import { createTurns } from '../database/turns.ts';
import { ServiceError } from '../errors/service-error.ts';
import { isPublicDocument, setAnyOrigin } from './cors.ts';
import type { LimitCounts } from './limit-counts.ts';
import { describeLimit, setHeaders } from './rate-limit-headers.ts';
import { type Context, contextOf, type Middleware } from './request-state.ts';
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

    hasLeft: counter.hasLeft,

    /** Gives back one point of `key` that `take` took in the same window. */
    giveBack: (key: string): void => counter.giveBack(key, 1),

    /**
     * Corrects what `take` took of `key`, when the cost is known afterwards: beyond the limit too, so that the next
     * requests wait. @param more points; a negative number gives back
     */
    correct: (key: string, more: number): void =>
      more < 0 ? counter.giveBack(key, -more) : counter.charge(key, more),

    points,
  };
}

type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * `tenant`: requests of a tenant with a valid access token, or with a secret, a token or a signature that proves right;
 * `client`: those of one client with an access token. `anonymous`: requests that need none. `refused`: those that reach
 * no route, or that prove wrong.
 */
export type RateLimits = Readonly<
  Record<'address' | 'tenant' | 'client' | 'anonymous' | 'refused', RateLimiter>
>;

/** The shares of a tenant's limit: of one client, and of requests of anybody. */
const SHARES = { client: 4 / 5, anonymous: 1 / 2, refused: 1 / 10 } as const;

/** The addresses that a process remembers because something proved right from there, and for how long (ms). */
const PROVEN = { most: 10_000, kept: 3_600_000 } as const;

/** @param limits requests a minute of one tenant, and of one address (an IPv6 client is its /64 network) */
export function createRateLimits(
  limits: { tenant: number; address: number },
  counts: Pick<LimitCounts, 'open'>,
  onRefused?: ((limit: string) => void) | undefined,
): RateLimits {
  const create = (name: string, points: number) => createRateLimiter({ name, points, counts, onRefused });
  const share = (name: keyof typeof SHARES) =>
    create(`tenant-${name}`, Math.ceil(limits.tenant * SHARES[name]));
  return {
    address: create('address', limits.address),
    tenant: create('tenant', limits.tenant),
    client: share('client'),
    anonymous: share('anonymous'),
    refused: share('refused'),
  };
}

/** Requests of one address that may have proved nothing yet, and milliseconds that further ones wait. */
const UNPROVEN = { share: 256, patience: 30_000 } as const;

/**
 * Limits the unproven requests of one client address. Source: draft-ietf-httpapi-ratelimit-headers-10. Those in hand
 * count, too. When they use up the rest of the limit, the next one waits for them: they may prove right.
 */
export function limitAddress({ address: limiter }: RateLimits): Middleware {
  const inHand = createTurns({
    patience: UNPROVEN.patience,
    share: (key, running) => (running === 0 || (limiter?.hasLeft(key) ?? true) ? UNPROVEN.share : running),
  });
  return (ctx, next) => {
    const key = addressGroup(ctx.state.address);
    return inHand.run(key, (_, leave) => {
      try {
        if (limiter !== undefined) setHeaders(ctx.res, limiter.take(key));
      } catch (error) {
        // The route is not known yet. Pages of any origin may read this refusal, so that agents in them know the wait.
        setAnyOrigin(ctx.res);
        throw error;
      }
      let isProven = false;
      ctx.state.onProven = () => {
        if (!isProven) limiter?.giveBack(key);
        isProven = true;
        leave();
      };
      return next();
    });
  };
}

/**
 * Makes the limit of the admitted requests to a tenant, by route. Public documents have no limit, because other
 * services need them to verify tokens. The fields are appended to those of the address limit.
 * @param now a monotonic clock in milliseconds
 */
export function createTenantLimit(
  limits: RateLimits,
  now: () => number = () => performance.now(),
): (route: Route) => Middleware {
  const proven = createBoundedCache<number>({ limit: PROVEN.most });
  const placeOf = (ctx: Context) => `${contextOf(ctx).tenant.id} ${addressGroup(ctx.state.address)}`;
  const isProvenPlace = (place: string) =>
    (proven.peek(place) ?? Number.NEGATIVE_INFINITY) > now() - PROVEN.kept;
  return (route) => {
    if (isPublicDocument(route)) return admit;
    if (takesToken(route)) return limitToken(limits);
    return async (ctx, next) => {
      const place = placeOf(ctx);
      const limiter = route.proves || isProvenPlace(place) ? limits.tenant : limits.anonymous;
      if (route.proves) countClients(limits, ctx);
      await limitUnlessRefused(limiter, ctx, next);
      if (!route.proves) return;
      ctx.state.onProven?.();
      proven.set(place, now());
    };
  };
}

const admit: Middleware = (ctx, next) => {
  ctx.state.isAdmitted = true;
  return next();
};

function limitToken({ tenant, client }: RateLimits): Middleware {
  return (ctx, next) => {
    ctx.state.isAdmitted = true;
    ctx.state.onProven?.();
    if (tenant === undefined || client === undefined) return next();
    const {
      principal,
      tenant: { id },
    } = contextOf(ctx);
    if (principal !== undefined) setHeaders(ctx.res, client.take(`${id} ${clientNameOf(principal)}`));
    setHeaders(ctx.res, tenant.take(id));
    return next();
  };
}

/** Lets the service that finds out the client of a request count it for the client's share of the tenant's limit. */
function countClients({ client: limiter }: RateLimits, ctx: Context): void {
  if (limiter === undefined) return;
  const context = contextOf(ctx);
  let isCounted = false;
  const countClient = (client: string): void => {
    // A service may find it out twice: by its memory, and by the database.
    if (isCounted) return;
    isCounted = true;
    try {
      setHeaders(ctx.res, limiter.take(`${context.tenant.id} ${client}`));
    } catch (error) {
      ctx.state.onProven?.();
      ctx.state.isOverShare = true;
      throw error;
    }
  };
  ctx.state.context = { ...context, countClient };
}

/**
 * Limits a request that needs no access token. `limitRefused` counts it instead if it is refused, so that strangers use
 * up nothing of the others; a request for a nonce is in no count of the tenant.
 */
async function limitUnlessRefused(
  limiter: RateLimiter,
  ctx: Context,
  next: () => Promise<unknown>,
): Promise<void> {
  const { id } = contextOf(ctx).tenant;
  if (limiter !== undefined) setHeaders(ctx.res, limiter.take(id));
  ctx.state.isAdmitted = true;
  try {
    await next();
  } catch (error) {
    if (isFaultOfCaller(error)) {
      limiter?.giveBack(id);
      ctx.state.isAdmitted = error.code === 'use_dpop_nonce' || ctx.state.isOverShare === true;
    }
    throw error;
  }
}

/**
 * Limits the requests to one tenant that are refused before `limitTenant` has admitted them, or whose secret, token or
 * signature proves wrong.
 */
export function limitRefused({ refused: limiter }: RateLimits): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (ctx.state.isAdmitted || !isFaultOfCaller(error)) throw error;
      if (limiter !== undefined) setHeaders(ctx.res, limiter.take(contextOf(ctx).tenant.id));
      throw error;
    }
  };
}

function isFaultOfCaller(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code !== 'temporarily_unavailable';
}
