// Reads the public keys with which an application may authenticate. A key with private members is refused and never
// stored.
import type { KeyAlgorithm } from '../../platform/crypto/algorithm.ts';
import { thumbprintOf } from '../../platform/crypto/jwk.ts';
import { jwkThumbprint, parsePublicKey, toJwk } from '../../platform/crypto/public-key.ts';
import { PublicKeyError } from '../../platform/crypto/public-key-error.ts';
import { invalidField } from '../../platform/errors/service-error.ts';

export const MOST_KEYS = 10;

/** A public key for client assertions (RFC 7517, RFC 8037). `kid` is stored unchanged. */
export type ApplicationJwk = {
  readonly kty: 'EC' | 'OKP';
  readonly crv: 'P-256' | 'Ed25519';
  readonly x: string;
  readonly y?: string;
  readonly alg: 'ES256' | 'EdDSA';
  readonly kid?: string;
};

export type ApplicationJwks = { readonly keys: readonly ApplicationJwk[] };

const ALGORITHMS: Readonly<Record<string, { key: KeyAlgorithm; alg: ApplicationJwk['alg'] }>> = {
  'P-256': { key: 'es256', alg: 'ES256' },
  Ed25519: { key: 'ed25519', alg: 'EdDSA' },
};

/**
 * Reads a JWK set of P-256 and Ed25519 keys. Keeps only the public members and `kid`.
 * @throws ServiceError `invalid_request` naming the key: of another kind, with private members, with a point off its
 * curve, or twice in the set
 */
export function readApplicationJwks({
  keys,
}: {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}): ApplicationJwks {
  const read = keys.map(readKey);
  const thumbprints = read.map(({ thumbprint }) => thumbprint);
  const kids = read.flatMap(({ jwk }) => (jwk.kid === undefined ? [] : [jwk.kid]));
  if (new Set(thumbprints).size < read.length || new Set(kids).size < kids.length)
    throw invalidField('body.jwks.keys', 'must not have a key or a kid twice');
  return { keys: read.map(({ jwk }) => jwk) };
}

/** Returns the RFC 7638 thumbprints of the keys, by which the audit log names them. */
export function thumbprintsOf(jwks: ApplicationJwks | null | undefined): string[] {
  return (jwks?.keys ?? []).map(thumbprintOf);
}

function readKey(given: Readonly<Record<string, unknown>>, index: number) {
  const path = `body.jwks.keys.${index}`;
  const { crv, kid } = given;
  const algorithm = typeof crv === 'string' && Object.hasOwn(ALGORITHMS, crv) ? ALGORITHMS[crv] : undefined;
  if (algorithm === undefined) throw invalidField(path, 'must be a key on P-256 or Ed25519');
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > 255))
    throw invalidField(`${path}.kid`, 'must be a text of 1 to 255 characters');
  const { kid: _, ...members } = given;
  const key = parse(algorithm.key, members, path);
  const { kty, x, y } = toJwk(key);
  const jwk: ApplicationJwk = {
    kty,
    crv: algorithm.alg === 'ES256' ? 'P-256' : 'Ed25519',
    x,
    ...(y === undefined ? {} : { y }),
    alg: algorithm.alg,
    ...(kid === undefined ? {} : { kid }),
  };
  return { jwk, thumbprint: jwkThumbprint(key) };
}

function parse(algorithm: KeyAlgorithm, members: Readonly<Record<string, unknown>>, path: string) {
  try {
    return parsePublicKey(algorithm, members);
  } catch (error) {
    if (error instanceof PublicKeyError) throw invalidField(path, error.message);
    throw error;
  }
}
