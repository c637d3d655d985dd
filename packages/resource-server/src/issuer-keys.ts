// The issuer's keys: fetched from its JWKS, kept for five minutes, fetched again for an unknown `kid` at most every
// five seconds. Without keys nothing is accepted.
import {
  type CompactJWSHeaderParameters,
  compactVerify,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
} from 'jose';
import type { SignedToken } from './claims.ts';
import { isObject } from './claims.ts';
import { TIMEOUT_MS } from './client.ts';
import { Refusal } from './refusal.ts';
import { fetchWhole } from './whole-answer.ts';

/** Milliseconds for which a set is kept: the `max-age` with which the service serves it. */
const KEPT_MS = 300_000;

/** Milliseconds between two fetches for an unknown `kid`, because strangers can send any. */
const COOLDOWN_MS = 5_000;

/** Milliseconds for which a failed fetch is not repeated. */
const FAILURE_MS = 1_000;

const ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519'];

const NOT_VALID = 'The access token is not valid.';

export type IssuerKeys = ReturnType<typeof createIssuerKeys>;

type IssuerKeysNeeds = { jwksUri: string; fetch: typeof globalThis.fetch; elapsed: () => number };

/** @param options.elapsed milliseconds of a clock that nobody sets */
export function createIssuerKeys({ jwksUri, fetch, elapsed }: IssuerKeysNeeds) {
  const keys = createRemoteJWKSet(new URL(jwksUri), {
    // jose counts by the clock that can be set back; `findKey` counts the age.
    cacheMaxAge: Infinity,
    cooldownDuration: COOLDOWN_MS,
    [customFetch]: (url, { method, headers, redirect }) =>
      fetchWhole(fetch, url, { method, headers, redirect }, TIMEOUT_MS),
  });
  let loadedAt = Number.NEGATIVE_INFINITY;
  let failure: { at: number; error: unknown } | undefined;

  const isThere = ({ kid, alg }: CompactJWSHeaderParameters) =>
    keys.jwks()?.keys.some((key) => key.kid === kid && key.alg === alg) === true;

  async function findKey(header: CompactJWSHeaderParameters) {
    const askedAt = elapsed();
    const isOld = askedAt - loadedAt >= KEPT_MS;
    const hasFailed = failure !== undefined && askedAt - failure.at < FAILURE_MS;
    // A stranger can invent a kid that has to be fetched; the keys that are there serve all the same.
    if (hasFailed && (isOld || !isThere(header))) throw unavailable(failure?.error);
    try {
      if (isOld) {
        await keys.reload();
        loadedAt = askedAt;
      }
      return await keys(header);
    } catch (error) {
      if (isUnknownKey(error)) throw new Refusal('invalid_token', NOT_VALID);
      failure = { at: elapsed(), error };
      throw unavailable(error);
    }
  }

  return {
    /**
     * Verifies the signature of a token by the key that its `kid` names.
     * @throws Refusal `invalid_token`; `temporarily_unavailable` when the keys cannot be had
     */
    verify: async (token: string): Promise<SignedToken> => {
      const header = readHeader(token);
      const key = await findKey(header);
      try {
        const { payload, protectedHeader } = await compactVerify(token, key, { algorithms: ALGORITHMS });
        const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
        if (!isObject(claims)) throw new Error('the payload is not an object');
        return { header: { ...protectedHeader }, claims };
      } catch {
        throw new Refusal('invalid_token', NOT_VALID);
      }
    },

    /** Fetches the set again after the issuer has revoked a key. A failure shows at the next token. */
    reload: (): Promise<void> => keys.reload().catch(() => undefined),
  };
}

/**
 * Reads the header of a token before its signature is verified.
 * @throws Refusal `invalid_token` without a `kid`, with a `crit`, and for a text that is not a JWS in compact form
 */
export function readHeader(token: string): CompactJWSHeaderParameters {
  const { alg, ...header } = decode(() => decodeProtectedHeader(token));
  const isCompact = token.split('.').length === 3;
  // The service uses no `crit`: an extension that changes what is signed has no place in an access token.
  if (!isCompact || header.crit !== undefined || typeof header.kid !== 'string' || typeof alg !== 'string')
    throw new Refusal('invalid_token', NOT_VALID);
  return { ...header, alg };
}

/**
 * Reads the claims of a token before its signature is verified.
 * @throws Refusal `invalid_token` for a text that is not a JWT in compact form
 */
export function readClaims(token: string): Readonly<Record<string, unknown>> {
  return decode(() => decodeJwt(token));
}

function decode<Part>(read: () => Part): Part {
  try {
    return read();
  } catch {
    throw new Refusal('invalid_token', NOT_VALID);
  }
}

function isUnknownKey(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

function unavailable(cause: unknown): Refusal {
  return new Refusal('temporarily_unavailable', 'The keys of the issuer cannot be had at the moment.', {
    cause,
  });
}
