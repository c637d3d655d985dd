// Keys of all four algorithms, as agents have them and as the floor verifies with them, and the text that an agent
// signs.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { schnorr } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';

export { buildPayloadOfResponse } from '#dist/packages/agent/src/payloads.js';

const GENERATE = {
  ed25519: () => generateKeyPairSync('ed25519'),
  es256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  es256k: () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
};
const DIGEST = { ed25519: null, es256: 'sha256', es256k: 'sha256' };
const dsaEncoding = 'ieee-p1363';

/** @returns both halves as text: PEM, of bip340 hex; the public one can be registered as it is */
export function makeKey(algorithm) {
  if (algorithm === 'bip340') {
    const secret = schnorr.utils.randomSecretKey();
    return { publicKey: hex(schnorr.getPublicKey(secret)), privateKey: hex(secret) };
  }
  const { publicKey, privateKey } = GENERATE[algorithm]();
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

/** @param pem either half @returns the public half as JWK */
export const publicJwkOf = (pem) => createPublicKey(pem).export({ format: 'jwk' });

/** @returns a function from a payload to its signature in base64 */
export function openSigner(algorithm, privateKey) {
  if (algorithm === 'bip340') {
    const secret = bytes(privateKey);
    return (payload) => Buffer.from(schnorr.sign(sha256(payload), secret)).toString('base64');
  }
  const key = createPrivateKey(privateKey);
  return (payload) => sign(DIGEST[algorithm], payload, { key, dsaEncoding }).toString('base64');
}

/** @returns a function from a payload and its signature to whether it is right */
export function openVerifier(algorithm, publicKey) {
  if (algorithm === 'bip340') {
    const key = bytes(publicKey);
    return async (payload, signature) =>
      schnorr.verify(Buffer.from(signature, 'base64'), sha256(payload), key);
  }
  const key = createPublicKey(publicKey);
  return (payload, signature) =>
    new Promise((resolve, reject) => {
      verify(
        DIGEST[algorithm],
        payload,
        { key, dsaEncoding },
        Buffer.from(signature, 'base64'),
        (error, valid) => (error ? reject(error) : resolve(valid)),
      );
    });
}

const hex = (data) => Buffer.from(data).toString('hex');
const bytes = (text) => Uint8Array.from(Buffer.from(text, 'hex'));
