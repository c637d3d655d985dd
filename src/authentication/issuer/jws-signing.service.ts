// Creates issuer keys and signs tokens. The algorithm in a token's header is always the algorithm of its key.
import { createPrivateKey, generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { SigningAlgorithm } from '../../platform/context.ts';
import { thumbprintOf } from '../../platform/crypto/jwk.ts';
import { type JwsKey, signJws } from '../../platform/crypto/jws.node.ts';
import type { IssuerJwk } from './issuer-key.ts';

const generate = promisify(generateKeyPair);

/** A private key for signing, with its encoded protected headers by `typ`. */
export type SigningKey = JwsKey<SigningAlgorithm> & {
  readonly kid: string;
  readonly headers: Map<string, string>;
};

/** @returns the public half, whose `kid` is its RFC 7638 thumbprint, and the private half as PKCS #8 DER */
export async function generateIssuerKey(
  algorithm: SigningAlgorithm,
): Promise<{ publicJwk: IssuerJwk; pkcs8: Buffer }> {
  const { publicKey, privateKey } =
    algorithm === 'ES256' ? await generate('ec', { namedCurve: 'P-256' }) : await generate('ed25519', {});
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' }) as IssuerJwk;
  const required = { kty, crv, x, ...(y === undefined ? {} : { y }) };
  return {
    publicJwk: { ...required, kid: thumbprintOf(required), alg: algorithm, use: 'sig' },
    pkcs8: privateKey.export({ type: 'pkcs8', format: 'der' }),
  };
}

/** Loads a private key. @param pkcs8 DER @throws when the key is not on the algorithm's curve */
export function loadSigningKey(kid: string, algorithm: SigningAlgorithm, pkcs8: Buffer): SigningKey {
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  if (key.asymmetricKeyType !== (algorithm === 'ES256' ? 'ec' : 'ed25519')) {
    throw new Error(`the issuer key ${kid} is not a key of ${algorithm}`);
  }
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
