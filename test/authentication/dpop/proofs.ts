// Makes DPoP proofs for the tests, good ones and ones with any part replaced. The signing is jose's, not ours.
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export const BASE_URL = 'https://acme.example.com';
export const NOW = Date.parse('2026-03-01T12:00:00.500Z');
export const SECONDS = Math.floor(NOW / 1000);

export type Parts = {
  readonly header?: Record<string, unknown> | undefined;
  readonly claims?: Record<string, unknown> | undefined;
};

/**
 * A client's key, and its clock in Unix seconds: `prove` signs a proof for POST /oauth/token, any part of which can be
 * replaced; undefined leaves it out.
 */
export async function createProver(
  alg: 'ES256' | 'Ed25519' | 'EdDSA' | 'PS256' = 'ES256',
  seconds = SECONDS,
) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    jwk,
    privateJwk: await exportJWK(privateKey),
    jkt: await calculateJwkThumbprint(jwk),
    prove: ({ header, claims }: Parts = {}) =>
      new SignJWT({
        htm: 'POST',
        htu: `${BASE_URL}/oauth/token`,
        iat: seconds,
        jti: crypto.randomUUID(),
        ...claims,
      })
        .setProtectedHeader({ typ: 'dpop+jwt', alg, jwk, ...header } as { alg: string; jwk: JWK })
        .sign(privateKey, { crit: { unknown: false } }),
  };
}

/** A compact JWS of any two parts with a signature that means nothing. */
export function assemble(header: unknown, payload: unknown): string {
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode(header)}.${encode(payload)}.${'A'.repeat(86)}`;
}
