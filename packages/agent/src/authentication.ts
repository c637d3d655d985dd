// How an agent gets tokens: a challenge that its key signs, a refresh token, or the exchange of a user's token.

import { AgentError } from './agent-error.ts';
import { encodeBase64, encodeText } from './bytes.ts';
import { buildPayloadOfResponse, type ChallengeResponse } from './payloads.ts';
import type { Answer, ServiceClient } from './service-client.ts';
import type { AgentKey } from './signer.ts';
import type { AgentToken, IssuedToken, TokenRequest } from './token-cache.ts';

/** The application that exchanges, and what of the user's token is asked for (RFC 8693). */
export type ExchangeOptions = {
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the user's token is; `access_token` by default. */
  readonly subjectTokenType?: 'access_token' | 'id_token' | 'jwt' | undefined;
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
  readonly audience?: string | undefined;
};

/** The answer of the challenge route. */
type Challenge = ChallengeResponse & { readonly challenge_id: string };

const TIMES = ['timestamp', 'expires_at'] as const;
const MEMBERS: readonly (keyof Challenge)[] = [
  ...([
    'challenge_id',
    'nonce',
    'audience',
    'client_id',
    'scope_hash',
    'key_fingerprint',
    'algorithm',
  ] as const),
  ...TIMES,
];

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';

/** @param options.now the time in Unix milliseconds */
export function createAuthentication({ client, now }: { client: ServiceClient; now: () => number }) {
  async function answerChallenge(key: AgentKey, { scope, resource }: TokenRequest): Promise<IssuedToken> {
    const json = { key_fingerprint: key.fingerprint, scope, resource };
    const challenge = await client.call({ path: '/auth/agent/challenge', json, safe: true });
    if (!isChallenge(challenge)) throw new AgentError('unexpected_answer', 'The answer is not a challenge.');
    const signature = await key.sign(buildPayloadOfResponse(challenge));
    const began = now();
    const answer = await client.call({
      path: '/auth/agent/verify',
      proved: true,
      json: {
        challenge_id: challenge.challenge_id,
        algorithm: key.algorithm,
        signature: encodeBase64(signature),
      },
    });
    return issuedBy(answer, began);
  }

  /** A lost answer may have consumed the challenge, so the whole is done once more. */
  async function authenticate(key: AgentKey, request: TokenRequest): Promise<IssuedToken> {
    try {
      return await answerChallenge(key, request);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'unreachable') throw error;
      return answerChallenge(key, request);
    }
  }

  async function refresh(refreshToken: string, resource: string | undefined): Promise<IssuedToken> {
    const began = now();
    // The service gives the same successor again for some seconds, so a lost answer can be asked for again.
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, resource };
    return issuedBy(await client.call({ path: '/oauth/token', form, proved: true, safe: true }), began);
  }

  return {
    authenticate,

    /** Gets a token by the refresh token, and by a new challenge where that is refused. */
    async issue(
      key: AgentKey,
      request: TokenRequest,
      refreshToken: string | undefined,
    ): Promise<IssuedToken> {
      if (refreshToken === undefined) return authenticate(key, request);
      try {
        return await refresh(refreshToken, request.resource);
      } catch (error) {
        const status = error instanceof AgentError ? (error.status ?? 500) : 500;
        if (status === 429 || status >= 500) throw error;
        return authenticate(key, request);
      }
    },

    async exchange(actor: AgentToken, userToken: string, options: ExchangeOptions): Promise<AgentToken> {
      const { clientId, clientSecret, subjectTokenType = 'access_token' } = options;
      const credentials = [clientId, clientSecret].map(encodeURIComponent).join(':');
      const { scope, resource, audience } = options;
      const began = now();
      const answer = await client.call({
        path: '/oauth/token',
        headers: { authorization: `Basic ${encodeBase64(encodeText(credentials))}` },
        proved: true,
        form: {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token: userToken,
          subject_token_type: TOKEN_TYPE + subjectTokenType,
          actor_token: actor.accessToken,
          actor_token_type: `${TOKEN_TYPE}access_token`,
          ...{ scope, resource, audience },
        },
      });
      return issuedBy(answer, began).token;
    },
  };
}

function isChallenge(answer: Answer): answer is Answer & Challenge {
  return (
    MEMBERS.every((name) => typeof answer[name] === 'string') &&
    TIMES.every((name) => !Number.isNaN(Date.parse(String(answer[name]))))
  );
}

/** The life of a token is counted from before the request, so that it never seems longer than it is. */
function issuedBy(answer: Answer, began: number): IssuedToken {
  const { access_token, token_type, expires_in, scope, refresh_token } = answer;
  const isComplete = typeof access_token === 'string' && typeof expires_in === 'number';
  if (!isComplete || (token_type !== 'Bearer' && token_type !== 'DPoP')) {
    throw new AgentError('unexpected_answer', 'The answer holds no access token.');
  }
  return {
    token: {
      ...{ accessToken: access_token, tokenType: token_type },
      scope: typeof scope === 'string' ? scope : '',
      expiresAt: new Date(began + expires_in * 1000),
    },
    refreshToken: typeof refresh_token === 'string' ? refresh_token : undefined,
  };
}
