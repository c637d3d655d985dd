// A key of a test's client, and the DPoP proofs that it makes.
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { sha256 } from './digest.ts';

/** The request that a proof is for. `claims` and `header` replace members; undefined removes one. */
export type TestProof = {
  readonly method?: string | undefined;
  readonly url: string;
  readonly token: string;
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  readonly header?: Readonly<Record<string, unknown>> | undefined;
};

export type TestKey = {
  /** Thumbprint of the key: `cnf.jkt` of the tokens that are bound to it. */
  readonly jkt: string;
  readonly createProof: (proof: TestProof) => Promise<string>;
};

/** @param now milliseconds since 1970 */
export async function createTestKey(now: () => number = Date.now): Promise<TestKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    jkt: await calculateJwkThumbprint(jwk),
    createProof: async ({ method = 'GET', url, token, claims = {}, header = {} }) => {
      const payload = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: url,
        iat: Math.floor(now() / 1000),
        ath: await sha256(token),
        ...claims,
      };
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header })
        .sign(privateKey);
    },
  };
}
