// Request rates, counted in this process. Counters that must hold across processes are in failure-limiter.ts.
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../errors/service-error.ts';
import { addressGroup } from './client-address.ts';
import { contextOf, type Middleware } from './request-state.ts';

const WINDOW_SECONDS = 60;

/**
 * Counts points per key in fixed windows of a minute.
 * @param name the policy's name in `RateLimit` and `RateLimit-Policy`
 * @param points how many a minute; 0 turns the limit off
 */
export function createRateLimiter({ name, points }: { name: string; points: number }) {
  if (points === 0) return undefined;
  const memory = new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  return {
    policy: `"${name}";q=${points};w=${WINDOW_SECONDS}`,
    /**
     * Takes `cost` points of `key`.
     * @returns the value of `RateLimit`: what remains (`r`) and the seconds until it is whole again (`t`)
     * @throws ServiceError `rate_limited`; its `headers` hold both fields
     */
    async take(key: string, cost = 1): Promise<string> {
      const result = await memory.consume(key, cost).catch((refusal: unknown) => {
        if (refusal instanceof RateLimiterRes) return refusal;
        throw refusal;
      });
      const seconds = Math.ceil(result.msBeforeNext / 1_000);
      const state = `"${name}";r=${result.remainingPoints};t=${seconds}`;
      if (result.consumedPoints <= points) return state;
      throw new ServiceError('rate_limited', {
        detail: `More than ${points} a minute.`,
        retryAfterSeconds: Math.max(1, seconds),
        headers: { ratelimit: state, 'ratelimit-policy': this.policy },
      });
    },
  };
}

type RateLimiter = ReturnType<typeof createRateLimiter>;

/** The limits that the shell applies to every request below a tenant. */
export type RateLimits = { readonly tenant: RateLimiter; readonly address: RateLimiter };

/** @param limits requests a minute of one tenant, and of one address (an IPv6 client is its /64 network) */
export function createRateLimits(limits: { tenant: number; address: number }): RateLimits {
  return {
    tenant: createRateLimiter({ name: 'tenant', points: limits.tenant }),
    address: createRateLimiter({ name: 'address', points: limits.address }),
  };
}

/** Limits what one client address sends. Source: draft-ietf-httpapi-ratelimit-headers-10. */
export function limitAddress({ address: limiter }: RateLimits): Middleware {
  if (limiter === undefined) return (_ctx, next) => next();
  return async (ctx, next) => {
    const state = await limiter.take(addressGroup(ctx.state.address));
    ctx.res.setHeader('ratelimit-policy', limiter.policy);
    ctx.res.setHeader('ratelimit', state);
    return next();
  };
}

/** Limits what is sent to one tenant, and adds to the fields of the address's limit. */
export function limitTenant({ tenant: limiter, address }: RateLimits): Middleware {
  if (limiter === undefined) return (_ctx, next) => next();
  const policy = address === undefined ? limiter.policy : `${address.policy}, ${limiter.policy}`;
  return async (ctx, next) => {
    const state = await limiter.take(contextOf(ctx).tenant.id);
    const before = ctx.res.getHeader('ratelimit');
    ctx.res.setHeader('ratelimit-policy', policy);
    ctx.res.setHeader('ratelimit', before === undefined ? state : `${String(before)}, ${state}`);
    return next();
  };
}
