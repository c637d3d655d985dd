// Makes and verifies the signatures of tokens, synchronously, because WebCrypto's thread hop would double the cost of a
// token. The algorithm comes from the key or from the caller's list, never from the token alone.
import { constants, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { JwsAlgorithm } from './jws.ts';

/** The algorithms with which this service signs tokens, or verifies them without jose. */
export type NodeAlgorithm = Extract<JwsAlgorithm, 'ES256' | 'Ed25519' | 'EdDSA' | 'PS256' | 'RS256'>;

/** Parameters for node:crypto; `bytes` is the required length of a signature, if it does not follow from the key. */
type Scheme = {
  readonly digest: 'sha256' | null;
  readonly bytes?: number;
  readonly options?: Readonly<{ dsaEncoding?: 'ieee-p1363'; padding?: number; saltLength?: number }>;
};

const ED25519: Scheme = { digest: null, bytes: 64 };

const SCHEMES: Readonly<Record<NodeAlgorithm, Scheme>> = {
  // r‖s (RFC 7518 §3.4)
  ES256: { digest: 'sha256', bytes: 64, options: { dsaEncoding: 'ieee-p1363' } },
  Ed25519: ED25519,
  EdDSA: ED25519,
  RS256: { digest: 'sha256' },
  // The salt is as long as the hash (RFC 7518 §3.5).
  PS256: { digest: 'sha256', options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } },
};

export type JwsKey<Algorithm extends NodeAlgorithm = NodeAlgorithm> = {
  readonly algorithm: Algorithm;
  readonly key: KeyObject;
};

/** Signs the first two parts of a compact JWS, joined by their dot (RFC 7515 §5.1). */
export function signJws({ algorithm, key }: JwsKey, text: string): Buffer {
  const { digest, options } = SCHEMES[algorithm];
  return sign(digest, Buffer.from(text), options === undefined ? key : { key, ...options });
}

/** True when this key made the signature over `signed`, the first two parts with their dot (RFC 7515 §5.2). */
export function verifyJws({ algorithm, key }: JwsKey, signed: string, signature: Uint8Array): boolean {
  const { digest, bytes = signature.length, options } = SCHEMES[algorithm];
  if (signature.length !== bytes) return false;
  return verify(digest, Buffer.from(signed), options === undefined ? key : { key, ...options }, signature);
}

/** Imports a public key; foreign members such as `kid` are ignored. @throws the error of OpenSSL */
export function importJwk(jwk: Readonly<Record<string, unknown>>): KeyObject {
  return createPublicKey({ key: { ...jwk }, format: 'jwk' });
}
