// DPoP proofs (RFC 9449): one for each request, with the nonce that its server asked for last, by the server's clock.

import { encodeBase64Url, encodeText, sha256 } from './bytes.ts';
import { type AgentKey, signJws } from './signer.ts';

/** Servers of which something is remembered; beyond that the oldest is forgotten, which costs one repetition. */
const MOST_SERVERS = 100;

/** Milliseconds by which a clock may differ unnoticed: a `Date` header has whole seconds, and an answer takes time. */
const UNNOTICED = 5_000;

/** What an answer has said about its server. `ahead`: milliseconds by which its clock is ahead of the local one. */
type Server = { readonly nonce: string | undefined; readonly ahead: number };

/** Whether an answer has told what can make the next proof a good one. */
export type Learned = { readonly hasNonce: boolean; readonly hasMoved: boolean };

export type Prover = ReturnType<typeof createProver>;

/** @param options.key the key of all proofs @param options.now the time in Unix milliseconds */
export function createProver({ key, now }: { key: AgentKey; now: () => number }) {
  const servers = new Map<string, Server>();
  return {
    /** Makes the `DPoP` header of a request. @param accessToken the token that is sent with it */
    async prove(method: string, url: string, accessToken?: string): Promise<string> {
      const target = new URL(url);
      const { nonce, ahead = 0 } = servers.get(target.origin) ?? {};
      const { proof } = key;
      const payload = {
        jti: encodeBase64Url(crypto.getRandomValues(new Uint8Array(16))),
        htm: method,
        htu: `${target.origin}${target.pathname}`,
        iat: Math.floor((now() + ahead) / 1000),
        ...(nonce === undefined ? {} : { nonce }),
        ...(accessToken === undefined ? {} : { ath: encodeBase64Url(await sha256(encodeText(accessToken))) }),
      };
      return signJws(key, { typ: 'dpop+jwt', alg: proof?.alg, jwk: proof?.jwk }, payload);
    },

    /**
     * Remembers the nonce of an answer for the next proof (RFC 9449 §8.2), and how far the server's clock is ahead. A
     * proof is for its server alone, so a wrong `Date` harms nobody else.
     */
    learn(response: Response, url: string): Learned {
      const { origin } = new URL(url);
      const known = servers.get(origin);
      const sent = response.headers.get('dpop-nonce') ?? undefined;
      const ahead = aheadOf(response, now()) ?? known?.ahead ?? 0;
      servers.delete(origin);
      servers.set(origin, { nonce: sent ?? known?.nonce, ahead });
      const [oldest] = servers.keys();
      if (servers.size > MOST_SERVERS && oldest !== undefined) servers.delete(oldest);
      return { hasNonce: sent !== undefined, hasMoved: Math.abs(ahead - (known?.ahead ?? 0)) > UNNOTICED };
    },
  };
}

/** Reads how far a server is ahead; undefined without a time, and for an answer that a cache has kept. */
function aheadOf({ headers }: Response, now: number): number | undefined {
  const time = headers.has('age') ? Number.NaN : Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(time)) return undefined;
  return Math.abs(time - now) > UNNOTICED ? time - now : 0;
}

/** Tells whether a refused request is worth another try with what its answer has told. */
export function isWorthProving(reason: string | undefined, learned: Learned | undefined): boolean {
  if (reason === 'use_dpop_nonce') return learned?.hasNonce === true;
  return reason === 'invalid_dpop_proof' && learned?.hasMoved === true;
}
