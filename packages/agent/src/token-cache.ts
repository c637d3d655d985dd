// The tokens of an agent: one for each scope and resource, renewed ahead of its end by one request at a time.

/** An access token. `tokenType` is `DPoP` for one that is good only with proofs by the agent's proof key. */
export type AgentToken = {
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  readonly scope: string;
  readonly expiresAt: Date;
};

/** What a token is for: space-separated scopes, and which of the agent's audiences (RFC 8707). */
export type TokenRequest = { readonly scope: string; readonly resource: string | undefined };

export type IssuedToken = { readonly token: AgentToken; readonly refreshToken: string | undefined };

type Entry = {
  token?: AgentToken | undefined;
  refreshToken?: string | undefined;
  /** Unix milliseconds; until then the token is used as it is. */
  renewAt: number;
  flight?: Promise<AgentToken> | undefined;
};

/** The part of its life after which a token is renewed. */
const RENEWED_AFTER = 0.8;

/** A token that could not be renewed is used on, and its renewal tried again after this time. */
const RETRY_MILLISECONDS = 5_000;

/** Pairs of scope and resource that are remembered. */
const MOST_ENTRIES = 200;

/** @param options.issue gets a token, by the refresh token if there is one */
export function createTokenCache({
  issue,
  now,
}: {
  issue: (request: TokenRequest, refreshToken: string | undefined) => Promise<IssuedToken>;
  now: () => number;
}) {
  const entries = new Map<string, Entry>();

  function entryOf({ scope, resource }: TokenRequest): Entry {
    const scopes = [...new Set(scope.split(' ').filter((name) => name !== ''))].sort();
    const name = JSON.stringify([scopes, resource]);
    const entry = entries.get(name) ?? { renewAt: 0 };
    entries.delete(name);
    entries.set(name, entry);
    const [oldest] = entries.keys();
    if (entries.size > MOST_ENTRIES && oldest !== undefined) entries.delete(oldest);
    return entry;
  }

  async function renew(entry: Entry, request: TokenRequest): Promise<AgentToken> {
    const began = now();
    try {
      const { token, refreshToken } = await issue(request, entry.refreshToken);
      entry.token = token;
      entry.refreshToken = refreshToken;
      entry.renewAt = began + (token.expiresAt.getTime() - began) * RENEWED_AFTER;
      return token;
    } catch (error) {
      const { token } = entry;
      if (token === undefined || token.expiresAt.getTime() <= now()) throw error;
      entry.renewAt = Math.min(now() + RETRY_MILLISECONDS, token.expiresAt.getTime());
      return token;
    }
  }

  return {
    async get(request: TokenRequest): Promise<AgentToken> {
      const entry = entryOf(request);
      if (entry.token !== undefined && now() < entry.renewAt) return entry.token;
      entry.flight ??= renew(entry, request).finally(() => {
        entry.flight = undefined;
      });
      return entry.flight;
    },
    /** Forgets a token that a server has refused; its refresh token stays. */
    drop(refused: AgentToken): void {
      for (const entry of entries.values()) if (entry.token === refused) entry.token = undefined;
    },
    /** Forgets everything, what is being issued included. */
    clear(): void {
      entries.clear();
    },
  };
}
