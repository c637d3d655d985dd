// Private keys by WebCrypto: ed25519 and es256 from PEM, JWK or newly generated.

import { AgentError } from './agent-error.ts';
import { asSource, decodeBase64 } from './bytes.ts';
import type { Signer } from './signer.ts';

/** A private key of ed25519 (`OKP`) or es256 (`EC`, `P-256`) as RFC 7517 writes it. */
export type PrivateJwk = {
  readonly kty?: string | undefined;
  readonly crv?: string | undefined;
  readonly x?: string | undefined;
  readonly y?: string | undefined;
  readonly d?: string | undefined;
};

/** PEM (`BEGIN PRIVATE KEY`), a private JWK, or a signer. */
export type KeyInput = string | PrivateJwk | Signer;

type Kind = {
  readonly algorithm: 'ed25519' | 'es256';
  readonly imports: { readonly name: string; readonly namedCurve?: string };
  readonly signs: { readonly name: string; readonly hash?: string };
};

const ED25519: Kind = { algorithm: 'ed25519', imports: { name: 'Ed25519' }, signs: { name: 'Ed25519' } };
const ES256: Kind = {
  algorithm: 'es256',
  imports: { name: 'ECDSA', namedCurve: 'P-256' },
  signs: { name: 'ECDSA', hash: 'SHA-256' },
};
const KINDS: Readonly<Record<string, Kind>> = { Ed25519: ED25519, 'P-256': ES256 };

/** The object identifiers in a PKCS #8 key, which name its curve (RFC 8410, RFC 5480). */
const OBJECT_IDS: readonly (readonly [bytes: readonly number[], curve: string])[] = [
  [[0x06, 0x03, 0x2b, 0x65, 0x70], 'Ed25519'],
  [[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], 'P-256'],
  [[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a], 'secp256k1'],
];

/** @throws {AgentError} `invalid_key` */
export async function importSigner(input: KeyInput): Promise<Signer> {
  if (typeof input === 'object' && 'sign' in input) return input;
  try {
    return await (typeof input === 'string' ? importPem(input) : importJwk(input));
  } catch (error) {
    if (error instanceof AgentError) throw error;
    throw new AgentError('invalid_key', 'The private key cannot be read.', { cause: error });
  }
}

/** Makes a key that can be stored. Give the result to `createAgent`, and keep it as a secret. */
export async function generateKey(algorithm: 'ed25519' | 'es256' = 'ed25519'): Promise<PrivateJwk> {
  const kind = algorithm === 'es256' ? ES256 : ED25519;
  const pair = (await crypto.subtle.generateKey(kind.imports, true, ['sign', 'verify'])) as CryptoKeyPair;
  const { kty, crv, x, y, d } = await crypto.subtle.exportKey('jwk', pair.privateKey);
  return { kty, crv, x, ...(y === undefined ? {} : { y }), d };
}

async function importPem(text: string): Promise<Signer> {
  const [, label, body = ''] = text.split('-----');
  if (label !== 'BEGIN PRIVATE KEY') {
    const found = label === undefined ? 'The key is no PEM' : `The key is "${label}"`;
    throw new AgentError('invalid_key', `${found}; convert it: openssl pkcs8 -topk8 -nocrypt.`);
  }
  const der = decodeBase64(body.replaceAll(/\s/g, ''));
  const curve = OBJECT_IDS.find(([bytes]) => contains(der.subarray(0, 40), bytes))?.[1];
  const key = await crypto.subtle.importKey('pkcs8', asSource(der), kindOf(curve).imports, true, ['sign']);
  return importJwk(await crypto.subtle.exportKey('jwk', key));
}

async function importJwk({ kty, crv, x, y, d }: PrivateJwk): Promise<Signer> {
  const { algorithm, imports, signs } = kindOf(crv);
  if (d === undefined || x === undefined) {
    throw new AgentError(
      'invalid_key',
      'The JWK is not a private key with its public half: it lacks d or x.',
    );
  }
  const jwk = { kty: kty ?? '', crv: crv ?? '', x, d, ...(y === undefined ? {} : { y }) };
  const key = await crypto.subtle.importKey('jwk', jwk, imports, false, ['sign']);
  const point = y === undefined ? [] : [4];
  const publicKey = Uint8Array.from([...point, ...decodeBase64(x), ...decodeBase64(y ?? '')]);
  const sign = async (message: Uint8Array) =>
    new Uint8Array(await crypto.subtle.sign(signs, key, asSource(message)));
  return { algorithm, publicKey, sign };
}

function kindOf(curve: string | undefined): Kind {
  const kind = KINDS[curve ?? ''];
  if (kind !== undefined) return kind;
  throw new AgentError(
    'invalid_key',
    curve === 'secp256k1'
      ? 'WebCrypto has no secp256k1: give the key to secp256k1Signer of @countersign/agent/secp256k1.'
      : 'The key is of neither ed25519 nor es256 (P-256).',
  );
}

function contains(bytes: Uint8Array, part: readonly number[]): boolean {
  return bytes.some((_, start) => part.every((byte, index) => bytes[start + index] === byte));
}
