// DPoP proofs (RFC 9449): one for each request, with the nonce that its server asked for last.

import { encodeBase64Url, encodeText, sha256 } from './bytes.ts';
import { type AgentKey, signJws } from './signer.ts';

/** Servers whose nonces are remembered; beyond that the oldest is forgotten, which costs one repetition. */
const MOST_SERVERS = 100;

export type Prover = ReturnType<typeof createProver>;

/** @param options.key the key of all proofs @param options.now the time in Unix milliseconds */
export function createProver({ key, now }: { key: AgentKey; now: () => number }) {
  const nonces = new Map<string, string>();
  return {
    /** Makes the `DPoP` header of a request. @param accessToken the token that is sent with it */
    async prove(method: string, url: string, accessToken?: string): Promise<string> {
      const target = new URL(url);
      const nonce = nonces.get(target.origin);
      const { proof } = key;
      const payload = {
        jti: encodeBase64Url(crypto.getRandomValues(new Uint8Array(16))),
        htm: method,
        htu: `${target.origin}${target.pathname}`,
        iat: Math.floor(now() / 1000),
        ...(nonce === undefined ? {} : { nonce }),
        ...(accessToken === undefined ? {} : { ath: encodeBase64Url(await sha256(encodeText(accessToken))) }),
      };
      return signJws(key, { typ: 'dpop+jwt', alg: proof?.alg, jwk: proof?.jwk }, payload);
    },
    /** Remembers the nonce of an answer for the next proof (RFC 9449 §8.2). @returns whether there was one */
    learn(response: Response, url: string): boolean {
      const nonce = response.headers.get('dpop-nonce');
      if (nonce === null) return false;
      const { origin } = new URL(url);
      nonces.delete(origin);
      nonces.set(origin, nonce);
      const [oldest] = nonces.keys();
      if (nonces.size > MOST_SERVERS && oldest !== undefined) nonces.delete(oldest);
      return true;
    },
  };
}
