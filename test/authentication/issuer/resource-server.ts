// A resource server that keeps a set of keys for as long as it is told, whatever it meets, and has a clock of its own.
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  jwtVerify,
} from 'jose';

/** Seconds for which JWKS answers may be kept. */
export const MAX_AGE = 300;

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Sets by their text: equal ones are one set, whose keys are imported once. */
const keySets = new Map<string, KeySet>();

function keySetOf(keys: JSONWebKeySet): KeySet {
  const text = JSON.stringify(keys);
  const known = keySets.get(text) ?? createLocalJWKSet(keys);
  keySets.set(text, known);
  return known;
}

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
  let kept: { keys: KeySet; at: number } | undefined;
  const accepted = new WeakMap<object, Set<string>>();
  const read = async () => {
    kept = { keys: keySetOf(await fetchKeys()), at: now() };
    return kept;
  };

  return {
    /** Fetches the JWKS whatever it has. */
    fetch: async (): Promise<void> => {
      await read();
    },

    /**
     * A token that it has accepted by the same key is only asked for its key again: the signature stays as it is, and
     * the caller asks for tokens that have not expired.
     * @throws JOSEError for whatever it refuses
     */
    accept: async (token: string): Promise<void> => {
      const { keys } = kept !== undefined && now() - kept.at < maxAge * 1000 ? kept : await read();
      const key = await keys(decodeProtectedHeader(token) as JWTHeaderParameters);
      const tokens = accepted.get(key) ?? new Set();
      if (tokens.has(token)) return;
      await jwtVerify(token, key, { typ: 'at+jwt', currentDate: new Date(now() + skew) });
      accepted.set(key, tokens.add(token));
    },
  };
}

export type ResourceServer = ReturnType<typeof createResourceServer>;
