// Introspection (RFC 7662): the issuer itself says whether a token is active. Answers are kept for a second by default.
import type { SignedToken } from './claims.ts';
import { type ClientCredentials, createIssuerClient } from './client.ts';
import { sha256 } from './digest.ts';
import { readHeader } from './issuer-keys.ts';
import { Refusal } from './refusal.ts';

export type IntrospectionOptions = ClientCredentials & {
  /** Seconds for which an answer is kept; 1 by default. A token that is revoked is accepted for so long. */
  readonly cacheSeconds?: number | undefined;
  /**
   * `fallback` (the default): only while the keys cannot be had, or the revocations cannot be followed. `always`: for
   * every token, after its signature was verified.
   */
  readonly use?: 'fallback' | 'always' | undefined;
};

const CACHE_SECONDS = 1;

/** Requests at a time: while keys are away, strangers' inventions cost requests too. */
const MOST_PENDING = 100;

/** Answers that are kept at most. */
const CACHE_LIMIT = 10_000;

export type Introspector = ReturnType<typeof createIntrospector>;

type IntrospectorNeeds = {
  issuer: string;
  options: IntrospectionOptions;
  fetch: typeof globalThis.fetch;
  now: () => number;
  elapsed: () => number;
};

/** @param needs.now milliseconds since 1970 @param needs.elapsed milliseconds of a clock that nobody sets */
export function createIntrospector({ options, ...needs }: IntrospectorNeeds) {
  const { elapsed } = needs;
  const { cacheSeconds = CACHE_SECONDS, use = 'fallback' } = options;
  const client = createIssuerClient({ ...needs, credentials: options });
  let pending = 0;
  const kept = new Map<string, { answer: Promise<SignedToken | undefined>; until: number }>();

  async function ask(token: string): Promise<SignedToken | undefined> {
    const header = readHeader(token);
    if (pending >= MOST_PENDING) throw new Error(`${MOST_PENDING} introspections are under way`);
    pending += 1;
    const answer = await client.post('/oauth/introspect', { token }).finally(() => {
      pending -= 1;
    });
    return answer.active === true ? { header, claims: answer } : undefined;
  }

  function keep(key: string, answer: Promise<SignedToken | undefined>): void {
    if (kept.size >= CACHE_LIMIT)
      for (const oldest of [...kept.keys()].slice(0, CACHE_LIMIT / 10)) kept.delete(oldest);
    kept.set(key, { answer, until: elapsed() + cacheSeconds * 1000 });
  }

  return {
    use,
    /**
     * Asks the issuer, or its last answer. Concurrent calls with one token are one request.
     * @throws Refusal `token_revoked` when the token is not active, `temporarily_unavailable` without an answer
     */
    introspect: async (token: string): Promise<SignedToken> => {
      const key = await sha256(token);
      const last = kept.get(key);
      const answer = last !== undefined && elapsed() < last.until ? last.answer : ask(token);
      if (answer !== last?.answer) {
        kept.delete(key);
        keep(key, answer);
        answer.catch(() => kept.delete(key));
      }
      const read = await answer.catch((cause: unknown) => {
        if (cause instanceof Refusal) throw cause;
        throw new Refusal('temporarily_unavailable', 'The issuer does not answer at the moment.', { cause });
      });
      if (read === undefined) throw new Refusal('token_revoked', 'The access token is not active.');
      return read;
    },
  };
}
