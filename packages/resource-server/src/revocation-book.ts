// What has ended: tokens, agents, delegations and issuer keys, each remembered until its tokens have expired.
import { actorsOf, isText, type SignedToken } from './claims.ts';

/** An event of the feed, as far as it is needed. */
export type FeedEvent = {
  readonly type: string;
  readonly occurredAt: number;
  readonly data: Readonly<Record<string, unknown>>;
};

/** Until when tokens of a principal are refused: milliseconds since 1970, Infinity while it is suspended or deleted. */
type Ended = { readonly notBefore: number; readonly expiresAt: number };

/** What an event changes. `end` refuses tokens that were issued until then, `admit` ends such a refusal. */
type Effect = {
  readonly kind: 'token' | 'end' | 'admit';
  readonly id: unknown;
  readonly notBefore?: number;
};

/**
 * The effects of events by their type. A token names neither its agent's key nor its refresh token, so when one of
 * those is revoked all tokens of the agent that were issued until then end.
 */
const EFFECTS: Readonly<Record<string, (event: FeedEvent) => Effect>> = {
  'auth.token.revoked': ({ data, occurredAt }) =>
    data.token_type === 'access_token'
      ? { kind: 'token', id: data.token_id }
      : { kind: 'end', id: data.sub, notBefore: occurredAt },
  'admin.agent.suspended': ({ data }) => ({ kind: 'end', id: data.agent_id }),
  'admin.agent.deleted': ({ data }) => ({ kind: 'end', id: data.agent_id }),
  'admin.agent.reactivated': ({ data, occurredAt }) => ({
    kind: 'admit',
    id: data.agent_id,
    notBefore: occurredAt,
  }),
  'admin.agent.key.revoked': ({ data, occurredAt }) => ({
    kind: 'end',
    id: data.agent_id,
    notBefore: occurredAt,
  }),
  'admin.delegation.revoked': ({ data }) => ({ kind: 'end', id: data.delegation_id }),
  'admin.issuer.key.revoked': ({ data }) => ({ kind: 'end', id: data.kid }),
};

/** The types of the events that the book must know. */
export const ENDING_TYPES: readonly string[] = Object.keys(EFFECTS);

export type RevocationBook = ReturnType<typeof createRevocationBook>;

type RevocationBookNeeds = { longestTokenSeconds: number; limit: number };

/**
 * @param options.longestTokenSeconds no token lives longer: an entry goes after this time
 * @param options.limit entries at most; beyond, `isIncomplete` until the tokens of what was left out have expired
 */
export function createRevocationBook({ longestTokenSeconds, limit }: RevocationBookNeeds) {
  const tokens = new Map<string, number>();
  const principals = new Map<string, Ended>();
  const size = () => tokens.size + principals.size;
  let overflowedAt = Number.NEGATIVE_INFINITY;

  function apply({ kind, id, notBefore = Infinity }: Effect, expiresAt: number): void {
    if (!isText(id)) return;
    if (kind === 'token') {
      tokens.set(id, expiresAt);
      return;
    }
    const known = principals.get(id);
    if (kind === 'admit' && known === undefined) return;
    // A key that is revoked while its agent is suspended must not admit the agent's other tokens.
    if (kind === 'end' && known !== undefined && known.notBefore > notBefore) return;
    principals.set(id, { notBefore, expiresAt });
  }

  function forget(now: number): void {
    for (const [id, expiresAt] of tokens) if (expiresAt < now) tokens.delete(id);
    for (const [id, { expiresAt }] of principals) if (expiresAt < now) principals.delete(id);
  }

  return {
    /** Adds an event. Events that are added again, in their order, change nothing. @param now ms since 1970 */
    add: (event: FeedEvent, now: number): void => {
      const effect = EFFECTS[event.type]?.(event);
      if (effect === undefined) return;
      if (size() >= limit) forget(now);
      if (size() >= limit) overflowedAt = now;
      else apply(effect, event.occurredAt + longestTokenSeconds * 1000);
    },

    /** Whether an entry was left out whose tokens may still be alive. @param now milliseconds since 1970 */
    isIncomplete: (now: number): boolean => now - overflowedAt < longestTokenSeconds * 1000,

    /** Whether the token, its agent, its issuer's key or anything that it is derived from has ended. */
    hasEnded: ({ header, claims }: SignedToken): boolean => {
      const derived = Array.isArray(claims.derived_from) ? claims.derived_from.filter(isText) : [];
      if ([String(claims.jti), ...derived].some((id) => tokens.has(id))) return true;
      const actors = actorsOf(claims.act).flatMap(({ sub, iss }) => (iss === undefined ? [sub] : []));
      const ids = [claims.sub, claims.client_id, claims.delegation_id, header.kid, ...actors, ...derived];
      const issuedAt = timeOfIssue(claims);
      return ids.some((id) => isText(id) && issuedAt <= (principals.get(id)?.notBefore ?? -Infinity));
    },

    /** Removes what no living token can need. @param now milliseconds since 1970 */
    forget,

    get size() {
      return size();
    },
  };
}

/** @returns the milliseconds in the `jti`, a UUIDv7 (RFC 9562 §5.7), because `iat` has only whole seconds */
function timeOfIssue({ jti, iat }: SignedToken['claims']): number {
  const id = String(jti);
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : Number(iat) * 1000;
}
