// JWK sets of other issuers (RFC 7517): which of their keys may verify a token. It must never let private material pass.
import { decodeBase64 } from '../../platform/crypto/base64.ts';

/** A public key for signatures, with its known members only. */
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

/** Keys of one set that are looked at; the most that a tenant may give inline. */
export const MOST_KEYS = { fetched: 100, inline: 20 } as const;

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const;
const CURVES: Readonly<Record<string, { kty: 'EC' | 'OKP'; algorithms: readonly string[] }>> = {
  'P-256': { kty: 'EC', algorithms: ['ES256'] },
  'P-384': { kty: 'EC', algorithms: ['ES384'] },
  'P-521': { kty: 'EC', algorithms: ['ES512'] },
  Ed25519: { kty: 'OKP', algorithms: ['EdDSA', 'Ed25519'] },
};

/** Signature algorithms that a foreign token may have: asymmetric ones only (RFC 7518 §3.1, RFC 8037, RFC 9864). */
export const SUBJECT_TOKEN_ALGORITHMS: readonly string[] = [
  ...RSA_ALGORITHMS,
  ...Object.values(CURVES).flatMap(({ algorithms }) => algorithms),
];

/** Members that hold private or shared material (RFC 7518 §6.2.2, §6.3.2, §6.4; RFC 8037 §2). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/** Bits of an RSA modulus: RFC 7518 §3.3 asks for the least; larger than the most only costs time. */
const RSA_BITS = { least: 2_048, most: 8_192 } as const;

const LONGEST_MEMBER = 2_048;

/** Judges one key. `message` completes a sentence that begins with the key's name, and repeats nothing of it. */
export function judgeJwk(value: unknown): JwkVerdict {
  if (!isObject(value)) return refuse('is not a JWK');
  const secret = PRIVATE_MEMBERS.find((member) => Object.hasOwn(value, member));
  if (secret !== undefined)
    return refuse(
      `has the private member "${secret}"; send public keys only, and replace this one: it is no secret any more`,
    );
  const { kty, use, key_ops } = value;
  if (use !== undefined && use !== 'sig') return refuse('is not for signatures (use)');
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify')))
    return refuse('is not for verifying (key_ops)');
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
  const fault = kty === 'RSA' ? faultOfRsa(key) : faultOfCurve(key);
  if (fault !== undefined) return refuse(fault);
  const judged = key as TrustedJwk;
  return judged.alg === undefined || algorithmsOf(judged).length > 0
    ? { ok: true, key: judged }
    : refuse('has an alg that does not fit its kind, or that is not accepted');
}

/** The algorithms that a key verifies: those of its kind, or the one that it names. */
export function algorithmsOf({ kty, crv = '', alg }: TrustedJwk): readonly string[] {
  const all: readonly string[] = kty === 'RSA' ? RSA_ALGORITHMS : (CURVES[crv]?.algorithms ?? []);
  if (alg === undefined) return all;
  // EdDSA is the older name of what RFC 9864 calls Ed25519.
  if (crv === 'Ed25519' && all.includes(alg)) return all;
  return all.filter((name) => name === alg);
}

/**
 * The usable keys of a fetched set; keys of other kinds are passed over (RFC 7517 §5).
 * @returns undefined when it is no JWK set, or one of more than `MOST_KEYS.fetched` keys
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
 * The key that a token names in its header. Without a `kid` there must be one key only that fits.
 * @returns `unknown` when none fits, `ambiguous` when several do
 */
export function selectKey(
  keys: readonly TrustedJwk[],
  { kid, alg }: { readonly kid?: string | undefined; readonly alg: string },
): TrustedJwk | 'unknown' | 'ambiguous' {
  const fitting = keys.filter(
    (key) => (kid === undefined || key.kid === kid) && algorithmsOf(key).includes(alg),
  );
  if (fitting.length > 1) return 'ambiguous';
  return fitting[0] ?? 'unknown';
}

function faultOfCurve(key: Readonly<Record<string, unknown>>): string | undefined {
  const curve = typeof key.crv === 'string' && Object.hasOwn(CURVES, key.crv) ? CURVES[key.crv] : undefined;
  if (curve === undefined || curve.kty !== key.kty)
    return 'is of no kind that is accepted: RSA, EC on P-256, P-384 or P-521, Ed25519';
  const names = curve.kty === 'EC' ? ['x', 'y'] : ['x'];
  return names.every((name) => bytesOf(key[name]) !== null)
    ? undefined
    : `lacks a good ${names.join(' and ')}`;
}

function faultOfRsa(key: Readonly<Record<string, unknown>>): string | undefined {
  const modulus = bytesOf(key.n);
  const exponent = bytesOf(key.e);
  if (modulus === null || exponent === null) return 'lacks a good n and e';
  // No leading zeros (RFC 7518 §6.3.1): they would make a short modulus look long.
  if (!modulus[0] || !exponent[0]) return 'lacks a good n and e';
  const bits = modulus.length * 8 - Math.clz32(modulus[0]) + 24;
  if (bits < RSA_BITS.least || bits > RSA_BITS.most)
    return `must have ${RSA_BITS.least} to ${RSA_BITS.most} bits`;
  const isOdd = ((exponent.at(-1) ?? 0) & 1) === 1;
  return exponent.length <= 4 && isOdd && (exponent.length > 1 || exponent[0] !== 1)
    ? undefined
    : 'has an unusual exponent';
}

function bytesOf(value: unknown): Uint8Array | null {
  const bytes = typeof value === 'string' && /^[A-Za-z0-9_-]+$/.test(value) ? decodeBase64(value) : null;
  return bytes === null || bytes.length === 0 ? null : bytes;
}

function refuse(message: string): JwkVerdict {
  return { ok: false, message };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
