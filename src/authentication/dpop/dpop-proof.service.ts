// Verifies the signatures of DPoP proofs. It refuses keys for which a signature can be made without the private key.
import type { KeyObject } from 'node:crypto';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { importJwk, verifyJws } from '../../platform/crypto/jws.node.ts';
import { parsePublicKey } from '../../platform/crypto/public-key.ts';
import { PublicKeyError } from '../../platform/crypto/public-key-error.ts';
import type { DpopProof } from './dpop-proof.ts';
import { invalidProof } from './invalid-proof.ts';
import type { ProofKey } from './proof-key.ts';

/** Greatest number of imported keys in the cache, by thumbprint. A client signs all its proofs with one key. */
const KEYS_KEPT = 10_000;

/** Creates the verifier with its cache of keys. */
export class ProofVerifier {
  readonly #keys = createBoundedCache<KeyObject>({ limit: KEYS_KEPT });

  /**
   * Verifies the signature synchronously in 0.1 to 0.2 ms. For a key that is not cached, it also checks the point.
   * @throws ServiceError `invalid_dpop_proof` for a bad signature or an impossible key (RFC 9449 §4.3, check 6)
   */
  verify = ({ algorithm, key, signed, signature }: DpopProof): void => {
    const publicKey = this.#keys.get(key.thumbprint, () => importKey(key));
    if (!verifyJws({ algorithm, key: publicKey }, signed, signature))
      throw invalidProof('The signature of the DPoP proof is not by the key in its jwk.');
  };
}

function importKey({ jwk }: ProofKey): KeyObject {
  try {
    // OpenSSL accepts small-order Ed25519 points. For these points anyone can make a valid signature.
    if (jwk.kty !== 'RSA') parsePublicKey(jwk.kty === 'OKP' ? 'ed25519' : 'es256', jwk);
    return importJwk(jwk);
  } catch (error) {
    if (error instanceof PublicKeyError)
      throw invalidProof(`The point in the jwk of the proof ${error.message}.`);
    throw invalidProof('The jwk of the proof is not a usable key.');
  }
}
