// `fetch` with the agent's token: sends it, with a DPoP proof where it is bound, and once more where the server asks.

import { isWorthProving, type Prover } from './dpop.ts';
import type { AgentToken } from './token-cache.ts';

type TokenFetchNeeds = {
  token: () => Promise<AgentToken>;
  drop: (refused: AgentToken) => void;
  prover: Prover | undefined;
  fetch: typeof globalThis.fetch;
};

/** @param options.token gives the token @param options.drop forgets one that was refused */
export function createTokenFetch({ token, drop, prover, fetch }: TokenFetchNeeds) {
  async function send(request: Request, { tokenType, accessToken }: AgentToken): Promise<Response> {
    request.headers.set('authorization', `${tokenType} ${accessToken}`);
    if (tokenType === 'DPoP' && prover !== undefined)
      request.headers.set('dpop', await prover.prove(request.method, request.url, accessToken));
    return fetch(request);
  }

  return async (request: Request): Promise<Response> => {
    let isProofTried = false;
    let isTokenTried = false;
    for (;;) {
      const used = await token();
      const response = await send(request.clone(), used);
      const learned = prover?.learn(response, request.url);
      const reason = await reasonOf(response);
      if (!isProofTried && isWorthProving(reason, learned)) isProofTried = true;
      else if ((reason === 'invalid_token' || reason === 'token_expired') && !isTokenTried) {
        isTokenTried = true;
        drop(used);
      } else return response;
      await response.body?.cancel();
    }
  };
}

/** The error of a 401: of its challenge (RFC 6750 §3), or of a JSON body, which is left unread. */
async function reasonOf(response: Response): Promise<string | undefined> {
  if (response.status !== 401) return undefined;
  const challenge = response.headers.get('www-authenticate') ?? '';
  const named = challenge.split('error="')[1]?.split('"')[0];
  if (named !== undefined) return named;
  if (!(response.headers.get('content-type') ?? '').includes('json')) return undefined;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return typeof body === 'object' && body !== null ? (body as { error?: string }).error : undefined;
}
