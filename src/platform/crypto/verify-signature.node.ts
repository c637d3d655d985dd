// Verifies signatures on the server off the event loop: with node:crypto in the thread pool, and BIP 340 in worker
// threads. It throws for no input of a client.
import { createPublicKey, type KeyObject, verify as verifyWithNode } from 'node:crypto';
import { createBoundedCache } from '../bounded-cache.ts';
import type { KeyAlgorithm } from './algorithm.ts';
import { importJwk } from './jws.node.ts';
import { isCanonicalPublicKey, type PublicKey, toJwk, toSpkiDer } from './public-key.ts';
import { decodeSignature } from './signature.ts';
import { createVerificationPool } from './verification-pool.node.ts';

/**
 * `publicKey`: canonical raw bytes from `parsePublicKey`. `payload`: the exact signed bytes. `signature`: base64 in any
 * accepted form.
 */
export type SignatureInput = {
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: Uint8Array;
  readonly payload: Uint8Array;
  readonly signature: string;
};

type Verify = (signature: Uint8Array, payload: Uint8Array, publicKey: Uint8Array) => Promise<boolean>;

/**
 * @param keyCacheSize imported keys that stay in memory; an import costs up to twice a verification
 * @param schnorrThreads worker threads for bip340; with 0 the event loop verifies
 */
export function createSignatureVerifier({ keyCacheSize = 10_000, schnorrThreads = 2 } = {}) {
  const pool = createVerificationPool({ size: schnorrThreads });
  const keys = createBoundedCache<KeyObject | null>({ limit: keyCacheSize });

  /**
   * @returns the imported key, or null for bytes that are no acceptable key. The cache is keyed by the raw bytes,
   *   because the fingerprint that a caller gives may be wrong
   */
  function loadKey(algorithm: KeyAlgorithm, raw: Uint8Array): KeyObject | null {
    const name = `${algorithm}:${Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1')}`;
    return keys.get(name, () =>
      isCanonicalPublicKey(algorithm, raw) ? importKey({ algorithm, raw }) : null,
    );
  }

  /**
   * OpenSSL checks S < L and compares R as bytes (RFC 8032 without the cofactor), so a non-canonical R never matches.
   */
  const ed25519: Verify = async (signature, payload, publicKey) => {
    const key = loadKey('ed25519', publicKey);
    return key !== null && (await verifyInThreadPool(null, payload, { key }, signature));
  };

  const ecdsa =
    (algorithm: 'es256' | 'es256k'): Verify =>
    async (signature, payload, publicKey) => {
      const key = loadKey(algorithm, publicKey);
      if (key === null) return false;
      return await verifyInThreadPool('sha256', payload, { key, dsaEncoding: 'ieee-p1363' }, signature);
    };

  const bip340: Verify = async (signature, payload, publicKey) =>
    publicKey.length === 32 && (await pool.verify(signature, payload, publicKey));

  const verify: Readonly<Record<KeyAlgorithm, Verify>> = {
    ed25519,
    es256: ecdsa('es256'),
    es256k: ecdsa('es256k'),
    bip340,
  };

  return {
    /**
     * True when the key signed the payload: ed25519 over the payload (strict RFC 8032), es256 and es256k over its
     * SHA-256 (`r‖s` or DER, high S too), bip340 over its SHA-256 or over the payload itself.
     * @returns false also for a malformed signature or key
     */
    async verifySignature(input: SignatureInput): Promise<boolean> {
      const signature = decodeSignature(input.algorithm, input.signature);
      return signature !== null && (await verify[input.algorithm](signature, input.payload, input.publicKey));
    },
    close: () => pool.close(),
  };
}

export type SignatureVerifier = ReturnType<typeof createSignatureVerifier>;

/**
 * Imports the key in its cheaper form by measurement: as a JWK, except on secp256k1, where OpenSSL imports DER in half
 * the time.
 */
function importKey(key: PublicKey): KeyObject {
  if (key.algorithm === 'es256k')
    return createPublicKey({ key: Buffer.from(toSpkiDer(key)), format: 'der', type: 'spki' });
  return importJwk(toJwk(key));
}

function verifyInThreadPool(
  digest: 'sha256' | null,
  payload: Uint8Array,
  key: { key: KeyObject; dsaEncoding?: 'ieee-p1363' },
  signature: Uint8Array,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    verifyWithNode(digest, payload, key, signature, (error, isValid) => {
      if (error === null) resolve(isValid);
      else reject(error);
    });
  });
}
