// Creates issuer keys and signs tokens. The algorithm in a token's header is always the algorithm of its key.
import { generateKeyPair, type KeyPairKeyObjectResult } from 'node:crypto';
import { promisify } from 'node:util';
import { thumbprintOf } from '../../platform/crypto/jwk.ts';
import { type JwsKey, signJws } from '../../platform/crypto/jws.node.ts';
import { openPrivateKey } from '../../platform/crypto/private-key.node.ts';
import type { IssuerAlgorithm, IssuerJwk, IssuerKey } from './issuer-key.ts';

const generate = promisify(generateKeyPair);

const GENERATORS: Readonly<Record<IssuerAlgorithm, () => Promise<KeyPairKeyObjectResult>>> = {
  ES256: () => generate('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generate('ed25519', {}),
  RS256: () => generate('rsa', { modulusLength: 2_048 }),
};

/** Types of node:crypto. */
const KEY_TYPES: Readonly<Record<IssuerAlgorithm, string>> = { ES256: 'ec', EdDSA: 'ed25519', RS256: 'rsa' };

/** A private key for signing, with its encoded protected headers by `typ`. */
export type SigningKey = JwsKey<IssuerAlgorithm> & {
  readonly kid: string;
  readonly headers: Map<string, string>;
};

/** @returns the public half, whose `kid` is its RFC 7638 thumbprint, and the private half as PKCS #8 DER */
export async function generateIssuerKey(
  algorithm: IssuerAlgorithm,
): Promise<{ publicJwk: IssuerJwk; pkcs8: Buffer }> {
  const { publicKey, privateKey } = await GENERATORS[algorithm]();
  const required = requiredMembers(publicKey.export({ format: 'jwk' }) as IssuerJwk);
  return {
    publicJwk: { ...required, kid: thumbprintOf(required), alg: algorithm, use: 'sig' },
    pkcs8: privateKey.export({ type: 'pkcs8', format: 'der' }),
  };
}

/** The members that define a key (RFC 7638 §3.2). */
function requiredMembers(jwk: IssuerJwk) {
  if (jwk.kty === 'RSA') return { kty: jwk.kty, n: jwk.n, e: jwk.e };
  const { kty, crv, x, y } = jwk;
  return { kty, crv, x, ...(y === undefined ? {} : { y }) };
}

/** Loads a private key. @param pkcs8 DER @throws when the key is not on the algorithm's curve */
export function loadSigningKey(
  { kid, algorithm, publicJwk }: Pick<IssuerKey, 'kid' | 'algorithm' | 'publicJwk'>,
  pkcs8: Buffer,
): SigningKey {
  const key = openPrivateKey(pkcs8, publicJwk);
  if (key.asymmetricKeyType !== KEY_TYPES[algorithm])
    throw new Error(`the issuer key ${kid} is not a key of ${algorithm}`);
  return { kid, algorithm, key, headers: new Map() };
}

/** Signs claims as a compact JWS (RFC 7515 §7.1). @param typ `typ` of the header, such as `at+jwt` */
export function signClaims(signingKey: SigningKey, claims: object, typ: string): string {
  const text = `${protectedHeader(signingKey, typ)}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${text}.${signJws(signingKey, text).toString('base64url')}`;
}

function protectedHeader({ kid, algorithm, headers }: SigningKey, typ: string): string {
  let header = headers.get(typ);
  if (header === undefined) {
    header = Buffer.from(JSON.stringify({ alg: algorithm, typ, kid })).toString('base64url');
    headers.set(typ, header);
  }
  return header;
}
