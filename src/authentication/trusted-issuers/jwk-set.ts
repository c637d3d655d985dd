// Reads JWK sets of other issuers (RFC 7517): the keys that may verify their tokens. A key with private members is
// refused.

import {
  type CurveJwk,
  decodeMember,
  fillCoordinate,
  findPrivateMember,
  findWrongPurpose,
  JWK_CURVES,
  kindOf,
  measureRsa,
  type RsaJwk,
  stripModulus,
  thumbprintOf,
} from '../../platform/crypto/jwk.ts';
import { JWS_ALGORITHMS, type JwsAlgorithm } from '../../platform/crypto/jws.ts';
import { isObject } from '../../platform/json-values.ts';

/** A public key for signatures. Unknown members are dropped. */
export type TrustedJwk = {
  readonly kty: 'EC' | 'OKP' | 'RSA';
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly use?: string;
};

export type JwkVerdict =
  | { readonly ok: true; readonly key: TrustedJwk }
  | { readonly ok: false; readonly message: string };

/** Greatest number of keys in a fetched set, and in a set that a tenant stores inline. */
export const MOST_KEYS = { fetched: 100, inline: 20 } as const;

/** Signature algorithms of tokens from other issuers. */
export const SUBJECT_TOKEN_ALGORITHMS: readonly JwsAlgorithm[] = Object.keys(
  JWS_ALGORITHMS,
) as JwsAlgorithm[];

/** Bits of an RSA modulus. RFC 7518 §3.3 sets the minimum. The maximum limits the cost of a verification. */
const RSA_BITS = { least: 2_048, most: 8_192 } as const;

const LONGEST_MEMBER = 2_048;

/** Decides whether a key can be used. `message` continues the key's name and repeats no value of the key. */
export function judgeJwk(value: unknown): JwkVerdict {
  if (!isObject(value)) return refuse('is not a JWK');
  const secret = findPrivateMember(value);
  if (secret !== undefined)
    return refuse(
      `has the private member "${secret}"; send public keys only, and replace this one: it is no secret any more`,
    );
  // The keys of a SPIFFE bundle for JWT-SVIDs have a use of their own (SPIFFE Trust Domain and Bundle, §4.2.2).
  const wrongPurpose = findWrongPurpose(value.use === 'jwt-svid' ? { ...value, use: 'sig' } : value);
  if (wrongPurpose !== undefined)
    return refuse(wrongPurpose === 'use' ? 'is not for signatures (use)' : 'is not for verifying (key_ops)');
  const key = Object.fromEntries(
    ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'alg', 'use'].flatMap((name) =>
      value[name] === undefined ? [] : [[name, value[name]]],
    ),
  );
  const faulty = Object.entries(key).find(
    ([, member]) =>
      typeof member !== 'string' ||
      member === '' ||
      member.length > LONGEST_MEMBER ||
      /[\p{Cc}\p{Cs}]/u.test(member),
  );
  if (faulty !== undefined) return refuse(`has a malformed ${faulty[0]}`);
  const whole = { ...key, ...completed(key) };
  const fault = value.kty === 'RSA' ? faultOfRsa(whole) : faultOfCurve(whole);
  if (fault !== undefined) return refuse(fault);
  const judged = whole as TrustedJwk;
  return judged.alg === undefined || algorithmsOf(judged).length > 0
    ? { ok: true, key: judged }
    : refuse('has an alg that does not fit its kind, or that is not accepted');
}

/**
 * Returns the numbers of a key as RFC 7518 writes them. Other issuers' libraries leave leading zeros out or write too
 * many; the key is the same, and its thumbprint too.
 */
function completed(key: Readonly<Record<string, unknown>>): object {
  const kind = kindOf(key);
  if (kind === 'RSA') return { n: stripModulus(key.n) };
  if (kind === undefined || JWK_CURVES[kind].kty !== 'EC') return {};
  const { coordinates, bytes } = JWK_CURVES[kind];
  return Object.fromEntries(coordinates.map((name) => [name, fillCoordinate(key[name], bytes)]));
}

/** Returns the algorithms that a key can verify: the key's `alg` if present, otherwise all algorithms of its kind. */
export function algorithmsOf(key: TrustedJwk): readonly string[] {
  const kind = kindOf(key);
  const all = SUBJECT_TOKEN_ALGORITHMS.filter((name) => JWS_ALGORITHMS[name] === kind);
  // `EdDSA` is the older name of `Ed25519` (RFC 9864).
  const named = all.filter((name) => name === key.alg);
  return key.alg === undefined || (kind === 'Ed25519' && named.length > 0) ? all : named;
}

/**
 * Returns the usable keys of a fetched set. Keys of other kinds are ignored (RFC 7517 §5).
 * @returns undefined when the value is not a JWK set, or has more than `MOST_KEYS.fetched` keys
 */
export function readJwkSet(value: unknown): TrustedJwk[] | undefined {
  if (!isObject(value) || !Array.isArray(value.keys) || value.keys.length > MOST_KEYS.fetched)
    return undefined;
  return value.keys.flatMap((key: unknown) => {
    const verdict = judgeJwk(key);
    return verdict.ok ? [verdict.key] : [];
  });
}

/**
 * Selects the key for a token's header. Exactly one key must match; the same key, listed repeatedly, is one key.
 * @returns `unknown` when no key matches, `ambiguous` when several match
 */
export function selectKey(
  keys: readonly TrustedJwk[],
  { kid, alg }: { readonly kid?: string | undefined; readonly alg: string },
): TrustedJwk | 'unknown' | 'ambiguous' {
  const fitting = keys.filter(
    (key) => (kid === undefined || key.kid === kid) && algorithmsOf(key).includes(alg),
  );
  const [first] = fitting;
  if (first === undefined) return 'unknown';
  const isOne = fitting.length === 1 || new Set(fitting.map(nameOf)).size === 1;
  return isOne ? first : 'ambiguous';
}

/** The thumbprint of a key, which is judged already. */
function nameOf(key: TrustedJwk): string {
  return thumbprintOf(key as CurveJwk | RsaJwk);
}

function faultOfCurve(key: Readonly<Record<string, unknown>>): string | undefined {
  const kind = kindOf(key);
  if (kind === undefined || kind === 'RSA' || kind === 'secp256k1')
    return 'is of no kind that is accepted: RSA, EC on P-256, P-384 or P-521, Ed25519';
  const { coordinates } = JWK_CURVES[kind];
  // The length is not checked here, but by OpenSSL.
  return coordinates.every((name) => decodeMember(key[name]) !== null)
    ? undefined
    : `lacks a good ${coordinates.join(' and ')}`;
}

function faultOfRsa(key: Readonly<Record<string, unknown>>): string | undefined {
  const size = measureRsa(key);
  if (size === null) return 'lacks a good n and e';
  const { bits, exponent } = size;
  if (bits < RSA_BITS.least || bits > RSA_BITS.most)
    return `must have ${RSA_BITS.least} to ${RSA_BITS.most} bits`;
  const isOdd = ((exponent.at(-1) ?? 0) & 1) === 1;
  return exponent.length <= 4 && isOdd && (exponent.length > 1 || exponent[0] !== 1)
    ? undefined
    : 'has an unusual exponent';
}

function refuse(message: string): JwkVerdict {
  return { ok: false, message };
}
