// Reads the outer form of a public key: JWK, PEM, DER, hex or base64, without a check of the point. Errors repeat no
// part of the input, which could be a private key.
import { concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import type { KeyAlgorithm } from './algorithm.ts';
import { decodeBase64 } from './base64.ts';
import type { CurveName } from './curve.ts';
import { decodeMember, findPrivateMember, findWrongPurpose } from './jwk.ts';
import { PublicKeyError } from './public-key-error.ts';
import { isPrivateKeyDer, nameForeignKey, parseSpki } from './spki.ts';

/** `bytes`: the encoded point. `curve` is missing for a raw key, which does not name its curve. */
export type KeyMaterial = {
  readonly bytes: Uint8Array;
  readonly curve?: CurveName | undefined;
  readonly jwkAlgorithm?: KeyAlgorithm | undefined;
};

/** The most characters of a key text. An RSA-8192 PEM is shorter, so that it gets an error that names RSA. */
const LONGEST_TEXT = 4096;

const PEM_BEGIN = '-----BEGIN PUBLIC KEY-----';

const CURVES: readonly string[] = ['Ed25519', 'P-256', 'secp256k1'] satisfies CurveName[];

/** JWK `alg` values of the four algorithms (RFC 7518 §3.1, RFC 8037 §3.1, RFC 8812 §3.2, RFC 9864 §2). */
const JWK_ALGORITHMS: Readonly<Record<string, KeyAlgorithm>> = {
  EdDSA: 'ed25519',
  Ed25519: 'ed25519',
  ES256: 'es256',
  ES256K: 'es256k',
};

/** How an OpenSSH public key becomes one of our forms. `ssh-keygen -e` does not convert ed25519. */
const OPENSSH = [
  ['ssh-ed25519 ', "cut -d' ' -f2 key.pub | base64 -d | tail -c 32 | base64"],
  ['ecdsa-sha2-', 'ssh-keygen -e -m PKCS8 -f key.pub'],
] as const;

/**
 * Reads a key of any form.
 * @param rawLengths allowed lengths in bytes of a raw key. A text that is hex of such a length is read as hex, even if
 *   it is also base64
 * @throws PublicKeyError `malformed`, `private_key`, or `wrong_algorithm` for kinds of keys that no algorithm here uses
 */
export function readKeyMaterial(
  input: string | Readonly<Record<string, unknown>>,
  rawLengths: readonly number[],
): KeyMaterial {
  if (typeof input !== 'string') return readJwk(input);
  if (input.length > LONGEST_TEXT)
    throw new PublicKeyError('malformed', `is longer than ${LONGEST_TEXT} characters`);
  const text = input.trim();
  if (text.startsWith('{'))
    throw new PublicKeyError('malformed', 'is JSON in a string; send a JWK as an object');
  return text.includes('-----') ? readPem(text) : readEncoded(text, rawLengths);
}

function readJwk(jwk: Readonly<Record<string, unknown>>): KeyMaterial {
  const secret = findPrivateMember(jwk);
  if (secret !== undefined) throw privateKeyError(`a JWK with the private member "${secret}"`);
  const { kty, crv } = jwk;
  if (typeof kty !== 'string') throw new PublicKeyError('malformed', 'is a JWK without a kty');
  if (kty !== 'EC' && kty !== 'OKP') throw foreignKeyError(kty === 'RSA' ? 'RSA' : 'other');
  if (typeof crv !== 'string') throw new PublicKeyError('malformed', 'is a JWK without a crv');
  if (!isCurve(crv)) throw foreignKeyError('other');
  if ((crv === 'Ed25519') !== (kty === 'OKP'))
    throw new PublicKeyError('malformed', `is a JWK whose kty does not fit ${crv}`);
  checkPurpose(jwk);
  const x = readCoordinate(jwk, 'x');
  const bytes = crv === 'Ed25519' ? x : concatBytes(Uint8Array.of(0x04), x, readCoordinate(jwk, 'y'));
  return { bytes, curve: crv, jwkAlgorithm: readJwkAlgorithm(jwk.alg) };
}

function checkPurpose(jwk: Readonly<Record<string, unknown>>): void {
  const wrong = findWrongPurpose(jwk);
  if (wrong === undefined) return;
  const fault = wrong === 'use' ? 'use is not "sig"' : 'key_ops does not have "verify"';
  throw new PublicKeyError('malformed', `is a JWK whose ${fault}`);
}

function isCurve(crv: string): crv is CurveName {
  return CURVES.includes(crv);
}

function readJwkAlgorithm(alg: unknown): KeyAlgorithm | undefined {
  if (alg === undefined) return undefined;
  const known =
    typeof alg === 'string' && Object.hasOwn(JWK_ALGORITHMS, alg) ? JWK_ALGORITHMS[alg] : undefined;
  if (known === undefined)
    throw new PublicKeyError('wrong_algorithm', 'is a JWK with an alg that is not supported');
  return known;
}

function readCoordinate(jwk: Readonly<Record<string, unknown>>, member: 'x' | 'y'): Uint8Array {
  const bytes = decodeMember(jwk[member]);
  if (bytes?.length !== 32)
    throw new PublicKeyError(
      'malformed',
      `is a JWK whose ${member} is not 32 bytes in base64url without padding`,
    );
  return bytes;
}

function readPem(text: string): KeyMaterial {
  if (text.includes('PRIVATE KEY-----')) throw privateKeyError('a private key');
  // Text before the block is explanatory (RFC 7468 §2).
  const block = text.slice(Math.max(text.indexOf(PEM_BEGIN), 0));
  const body = /^-----BEGIN PUBLIC KEY-----\s([A-Za-z0-9+/=\s]*)\s-----END PUBLIC KEY-----$/.exec(block)?.[1];
  const der = body === undefined ? null : decodeBase64(body.replaceAll(/\s/g, ''));
  if (der === null) throw new PublicKeyError('malformed', faultOfPem(text));
  return readSpki(der) ?? refuseDer(der);
}

/** Says what environment files and shells have made of a PEM. */
function faultOfPem(text: string): string {
  if (/^["']/.test(text)) return 'is a PEM in quotation marks: leave them out';
  if (text.includes('\\n')) return 'is a PEM that has \\n as two characters in the place of line feeds';
  if (/-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/]/.test(text)) return 'is a PEM whose line feeds were removed';
  return 'is not one PEM block of the type "PUBLIC KEY" (SubjectPublicKeyInfo)';
}

function readEncoded(text: string, rawLengths: readonly number[]): KeyMaterial {
  const convert = OPENSSH.find(([prefix]) => text.startsWith(prefix))?.[1];
  if (convert !== undefined)
    throw new PublicKeyError('malformed', `is an OpenSSH public key: send what \`${convert}\` prints`);
  const fromHex = /^(?:[0-9a-f]{2})+$/i.test(text) ? hexToBytes(text) : null;
  const fromBase64 = decodeBase64(text.replaceAll(/\s/g, ''));
  for (const bytes of [fromHex, fromBase64]) {
    if (bytes === null) continue;
    if (rawLengths.includes(bytes.length)) return { bytes };
    const spki = readSpki(bytes);
    if (spki !== null) return spki;
  }
  const bytes = fromHex ?? fromBase64;
  if (bytes === null || bytes.length === 0)
    throw new PublicKeyError(
      'malformed',
      'is none of: JWK object, SPKI PEM, SPKI DER in base64, raw key in hex or base64',
    );
  if (new TextDecoder('latin1').decode(bytes.subarray(0, 10)) === PEM_BEGIN.slice(0, 10))
    refuseEncodedPem(bytes);
  return looksLikeDer(bytes) ? refuseDer(bytes) : { bytes };
}

function refuseEncodedPem(bytes: Uint8Array): never {
  const text = new TextDecoder('latin1').decode(bytes);
  if (text.includes('PRIVATE KEY-----')) throw privateKeyError('a private key');
  throw new PublicKeyError(
    'malformed',
    'is a PEM in base64: send the PEM itself, or the base64 that is in it',
  );
}

function readSpki(der: Uint8Array): KeyMaterial | null {
  const spki = parseSpki(der);
  return spki === null ? null : { bytes: spki.point, curve: spki.curve };
}

function looksLikeDer(bytes: Uint8Array): boolean {
  return isPrivateKeyDer(bytes) || nameForeignKey(bytes) !== null;
}

function refuseDer(der: Uint8Array): never {
  if (isPrivateKeyDer(der)) throw privateKeyError('a private key');
  const kind = nameForeignKey(der);
  if (kind !== null) throw foreignKeyError(kind);
  throw new PublicKeyError(
    'malformed',
    'is no SubjectPublicKeyInfo in DER of an Ed25519, P-256 or secp256k1 key',
  );
}

function foreignKeyError(kind: string): PublicKeyError {
  const what = kind === 'other' ? 'a key of another kind' : `a key of another kind (${kind})`;
  return new PublicKeyError('wrong_algorithm', `is ${what}; supported are Ed25519, P-256 and secp256k1`);
}

function privateKeyError(what: string): PublicKeyError {
  return new PublicKeyError(
    'private_key',
    `is ${what}: send the public key only, and replace this key, since its private half has left its owner`,
  );
}
