// A resource server that keeps a set of keys for as long as it is told, whatever it meets, and has a clock of its own.
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';

/** Seconds for which JWKS answers may be kept. */
export const MAX_AGE = 300;

/**
 * @param fetchKeys asks the issuer for its JWKS @param now milliseconds since 1970
 * @param skew milliseconds by which its clock is ahead @param maxAge seconds for which it keeps a set
 */
export function createResourceServer({
  fetchKeys,
  now,
  skew,
  maxAge = MAX_AGE,
}: {
  fetchKeys: () => Promise<JSONWebKeySet>;
  now: () => number;
  skew: number;
  maxAge?: number | undefined;
}) {
  let kept: { keys: ReturnType<typeof createLocalJWKSet>; at: number } | undefined;

  return {
    /** Fetches the JWKS whatever it has. */
    fetch: async (): Promise<void> => {
      kept = { keys: createLocalJWKSet(await fetchKeys()), at: now() };
    },

    /** @throws JOSEError for whatever it refuses */
    accept: async (token: string): Promise<void> => {
      if (kept === undefined || now() - kept.at >= maxAge * 1000)
        kept = { keys: createLocalJWKSet(await fetchKeys()), at: now() };
      await jwtVerify(token, kept.keys, { typ: 'at+jwt', currentDate: new Date(now() + skew) });
    },
  };
}

export type ResourceServer = ReturnType<typeof createResourceServer>;
