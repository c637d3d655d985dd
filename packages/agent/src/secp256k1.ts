// The entry `@countersign/agent/secp256k1`: signers of es256k and bip340, which WebCrypto lacks. It needs
// @noble/curves.

import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { asSource, decodeBase64 } from './bytes.ts';
import type { PrivateJwk } from './private-key.ts';
import type { Signer } from './signer.ts';

/**
 * Signs with a private key on secp256k1.
 * @param privateKey its 32 bytes, or a private JWK with `d`
 */
export function secp256k1Signer(algorithm: 'es256k' | 'bip340', privateKey: Uint8Array | PrivateJwk): Signer {
  const secret = privateKey instanceof Uint8Array ? privateKey : decodeBase64(privateKey.d ?? '');
  if (algorithm === 'es256k') {
    const sign = (message: Uint8Array) =>
      secp256k1.sign(message, secret, { prehash: true, format: 'compact' });
    return { algorithm, publicKey: secp256k1.getPublicKey(secret, false), sign };
  }
  const sign = async (message: Uint8Array) =>
    schnorr.sign(new Uint8Array(await crypto.subtle.digest('SHA-256', asSource(message))), secret);
  return { algorithm, publicKey: schnorr.getPublicKey(secret), sign };
}
