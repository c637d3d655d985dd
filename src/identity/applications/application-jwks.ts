// Reads the public keys with which an application may authenticate. A key with private members is refused and never
// stored.
import type { Tenant } from '../../platform/context.ts';
import type { KeyAlgorithm } from '../../platform/crypto/algorithm.ts';
import {
  findPrivateMember,
  findWrongPurpose,
  hasZeroBefore,
  isUsableRsa,
  type RsaJwk,
  readPublicJwk,
  type SigningCurveJwk,
  thumbprintOf,
} from '../../platform/crypto/jwk.ts';
import { parsePublicKey, toJwk } from '../../platform/crypto/public-key.ts';
import { PublicKeyError } from '../../platform/crypto/public-key-error.ts';
import { invalidField } from '../../platform/errors/service-error.ts';

export const MOST_KEYS = 10;

type RsaAlgorithm = 'PS256' | 'RS256';

/** A public key for client assertions (RFC 7517, RFC 8037). `kid` is stored unchanged. */
export type ApplicationJwk = (
  | (SigningCurveJwk & { readonly alg: 'ES256' | 'EdDSA' })
  | (RsaJwk & { readonly alg: RsaAlgorithm })
) & { readonly kid?: string };

export type ApplicationJwks = { readonly keys: readonly ApplicationJwk[] };

const CURVES: Readonly<Record<string, { key: KeyAlgorithm; alg: 'ES256' | 'EdDSA' }>> = {
  'P-256': { key: 'es256', alg: 'ES256' },
  Ed25519: { key: 'ed25519', alg: 'EdDSA' },
};

/**
 * Reads a JWK set of P-256, Ed25519 and RSA keys. Keeps only the public members and `kid`.
 * @param tenant whose profile `fapi2` excludes RS256 (FAPI 2.0 Security Profile, §5.4.1)
 * @throws ServiceError `invalid_request` naming the key: of another kind, with private members, with a point off its
 * curve, or twice in the set
 */
export function readApplicationJwks(
  { keys }: { readonly keys: readonly Readonly<Record<string, unknown>>[] },
  { securityProfile }: Pick<Tenant, 'securityProfile'> = {},
): ApplicationJwks {
  const algorithms: readonly RsaAlgorithm[] = securityProfile === 'fapi2' ? ['PS256'] : ['PS256', 'RS256'];
  const read = keys.map((key, index) => readKey(key, index, algorithms));
  const thumbprints = read.map(thumbprintOf);
  const kids = read.flatMap(({ kid }) => kid ?? []);
  if (new Set(thumbprints).size < read.length || new Set(kids).size < kids.length)
    throw invalidField('body.jwks.keys', 'must not have a key or a kid twice');
  return { keys: read };
}

/** Returns the RFC 7638 thumbprints of the keys, by which the audit log names them. */
export function thumbprintsOf(jwks: ApplicationJwks | null | undefined): string[] {
  return (jwks?.keys ?? []).map(thumbprintOf);
}

function readKey(
  given: Readonly<Record<string, unknown>>,
  index: number,
  algorithms: readonly RsaAlgorithm[],
): ApplicationJwk {
  const path = `body.jwks.keys.${index}`;
  const { kid, ...members } = given;
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > 255))
    throw invalidField(`${path}.kid`, 'must be a text of 1 to 255 characters');
  const key = members.kty === 'RSA' ? readRsa(members, path, algorithms) : readCurve(members, path);
  return { ...key, ...(kid === undefined ? {} : { kid }) };
}

function readCurve(members: Readonly<Record<string, unknown>>, path: string): ApplicationJwk {
  const { crv } = members;
  const curve = typeof crv === 'string' && Object.hasOwn(CURVES, crv) ? CURVES[crv] : undefined;
  if (curve === undefined) throw invalidField(path, 'must be a key on P-256 or Ed25519, or an RSA key');
  const { kty, x, y } = toJwk(parse(curve.key, members, path));
  const { alg } = curve;
  return { kty, crv: alg === 'ES256' ? 'P-256' : 'Ed25519', x, ...(y === undefined ? {} : { y }), alg };
}

/** An RSA key is for one algorithm: for PS256, unless it says RS256. */
function readRsa(
  members: Readonly<Record<string, unknown>>,
  path: string,
  algorithms: readonly RsaAlgorithm[],
): ApplicationJwk {
  const secret = findPrivateMember(members);
  if (secret !== undefined)
    throw invalidField(path, `has the private member "${secret}"; send the public key only, of a new pair`);
  const wrong = findWrongPurpose(members);
  if (wrong !== undefined)
    throw invalidField(path, `is a JWK whose ${wrong} is not for verifying signatures`);
  const alg = algorithms.find((name) => name === (members.alg ?? 'PS256'));
  if (alg === undefined)
    throw invalidField(path, `is an RSA key with another alg than ${algorithms.join(' or ')}`);
  if (hasZeroBefore(members.n))
    throw invalidField(path, 'has an n that begins with a zero byte (RFC 7518 §6.3.1.1): leave it out');
  const read = readPublicJwk('RSA', members);
  if (read?.kty !== 'RSA' || !isUsableRsa(read))
    throw invalidField(path, 'must be an RSA key of 2,048 to 4,096 bits with an odd exponent of 3 to 2^32');
  return { ...read, alg };
}

function parse(algorithm: KeyAlgorithm, members: Readonly<Record<string, unknown>>, path: string) {
  try {
    return parsePublicKey(algorithm, members);
  } catch (error) {
    if (error instanceof PublicKeyError) throw invalidField(path, error.message);
    throw error;
  }
}
