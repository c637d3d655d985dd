// Generates public keys as JWKs.
import { createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto';

/**
 * Generates a key of which nobody has the private half. It is read from its bytes: Node can hang for ever when an
 * object that was generated synchronously is exported itself, because the export locks the key, and a garbage
 * collection within it ends the generation, which locks the key too.
 */
export function generatePublicJwk(algorithm: 'ES256' | 'EdDSA'): JsonWebKey {
  const key = algorithm === 'EdDSA' ? generateSpki('ed25519') : generateSpki('ec', { namedCurve: 'P-256' });
  return createPublicKey({ key, format: 'der', type: 'spki' }).export({ format: 'jwk' });
}

function generateSpki(type: 'ed25519' | 'ec', options: { readonly namedCurve?: string } = {}): Buffer {
  const { publicKey } = generateKeyPairSync(type as 'ed25519', {
    ...options,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  return publicKey;
}
