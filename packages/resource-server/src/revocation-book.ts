// What has ended: tokens, agents, applications, delegations, issuer keys and the like, each remembered until its tokens
// have expired. All times are the service's, in milliseconds since 1970.
import { type BloomFilter, createBloomFilter } from './bloom-filter.ts';
import { actorsOf, isText, type SignedToken } from './claims.ts';

/** An event of the feed, as far as it is needed. */
export type FeedEvent = {
  readonly type: string;
  readonly occurredAt: number;
  readonly data: Readonly<Record<string, unknown>>;
};

/** Tokens of a principal that were issued until `notBefore` are refused; Infinity: later ones too. */
type Ended = { readonly notBefore: number; readonly expiresAt: number };

/**
 * `holder` is the principal to which the token counts, and with which it can be ended: `until` is when it ended, or was
 * issued by a process whose clock was ahead.
 */
type EndedToken = {
  readonly holder: string | undefined;
  readonly until: number;
  readonly expiresAt: number;
};

/**
 * What an event changes. `end` refuses a principal's tokens that were issued until `until`. With `admits`, later ones
 * are accepted again.
 */
type Effect =
  | { readonly kind: 'token'; readonly id: unknown; readonly holder: unknown; readonly expires: number }
  | { readonly kind: 'end'; readonly id: unknown; readonly until: number; readonly admits?: boolean };

/** `client_id` of the tokens that agents get by their keys: all agents of the tenant share it. */
const AGENT_CLIENT_ID = 'service-agent';

/** Milliseconds by which the clocks of the service, its database and this server may differ. */
export const CLOCK_SKEW_MS = 60_000;

/** One holder's part of the entries: a client that ends its own tokens fills no more. */
const SHARE = 1 / 100;

const forEver = (id: unknown): Effect => ({ kind: 'end', id, until: Infinity });

/**
 * The effects of events by their type. A token names neither its agent's key nor its refresh token, so when one of
 * those is revoked all tokens of the agent that were issued until then end.
 */
const EFFECTS: Readonly<Record<string, (event: FeedEvent) => Effect>> = {
  'auth.token.revoked': ({ data, occurredAt }) => {
    if (data.token_type === 'access_token') return endOfToken(data);
    if (data.token_type !== 'all') return { kind: 'end', id: data.sub, until: occurredAt };
    if (data.ends === 'ever') return forEver(data.sub);
    return { kind: 'end', id: data.sub, until: occurredAt, admits: true };
  },
  'admin.agent.suspended': ({ data }) => forEver(data.agent_id),
  'admin.agent.deleted': ({ data }) => forEver(data.agent_id),
  'admin.agent.reactivated': ({ data, occurredAt }) => ({
    kind: 'end',
    id: data.agent_id,
    until: occurredAt,
    admits: true,
  }),
  'admin.agent.key.revoked': ({ data, occurredAt }) => ({
    kind: 'end',
    id: data.agent_id,
    until: occurredAt,
  }),
  'admin.delegation.revoked': ({ data }) => forEver(data.delegation_id),
  'admin.issuer.key.revoked': ({ data }) => forEver(data.kid),
};

/** The types of the events that the book must know. */
export const ENDING_TYPES: readonly string[] = Object.keys(EFFECTS);

export type RevocationBook = ReturnType<typeof createRevocationBook>;

type RevocationBookNeeds = { longestTokenSeconds: number; limit: number };

/** The ids of what was left out since `begunAt`: the tokens that name one may have ended. */
type LeftOut = { readonly ids: BloomFilter; readonly begunAt: number; lastAt: number };

/**
 * @param options.longestTokenSeconds no token lives longer: an entry goes after this time
 * @param options.limit entries at most; what is left out is remembered less exactly (`mayHaveEnded`), however much it
 *   is. Of one holder a hundredth of it: beyond, all of its tokens that were issued until then are refused
 */
export function createRevocationBook({ longestTokenSeconds, limit }: RevocationBookNeeds) {
  const longest = longestTokenSeconds * 1000;
  const share = Math.max(1, Math.floor(limit * SHARE));
  const tokens = new Map<string, EndedToken>();
  const principals = new Map<string, Ended>();
  const held = new Map<string, Set<string>>();
  const size = () => tokens.size + principals.size;
  const kept = longest + CLOCK_SKEW_MS;
  /** Two at most: the first goes when what it has left out has expired. */
  let leftOut: LeftOut[] = [];
  let searchedAt = Number.NaN;

  function leaveOut(id: string, now: number): void {
    let last = leftOut.at(-1);
    if (last === undefined || now - last.begunAt >= kept) {
      last = { ids: createBloomFilter(), begunAt: now, lastAt: now };
      leftOut = [...leftOut.slice(-1), last];
    }
    last.lastAt = now;
    last.ids.add(id);
  }

  function drop(id: string): void {
    const holder = tokens.get(id)?.holder ?? '';
    tokens.delete(id);
    const ids = held.get(holder);
    ids?.delete(id);
    if (ids?.size === 0) held.delete(holder);
  }

  function addToken(id: string, token: EndedToken): void {
    tokens.set(id, token);
    if (token.holder === undefined) return;
    const ids = (held.get(token.holder) ?? new Set()).add(id);
    held.set(token.holder, ids);
    if (ids.size > share) endTogether(token.holder, ids);
  }

  function addPrincipal(id: string, until: number, admits: boolean, expiresAt: number): void {
    const known = principals.get(id)?.notBefore ?? Number.NEGATIVE_INFINITY;
    // A key that is revoked while its agent is suspended must not admit the agent's other tokens.
    const notBefore = admits && known === Infinity ? until : Math.max(known, until);
    principals.set(id, { notBefore, expiresAt });
  }

  /** Ends all that a holder got until its last ended token, instead of single tokens. */
  function endTogether(holder: string, ids: ReadonlySet<string>): void {
    const until = Math.max(...[...ids].map((id) => tokens.get(id)?.until ?? 0));
    for (const id of [...ids]) drop(id);
    addPrincipal(holder, until, false, until + longest + CLOCK_SKEW_MS);
  }

  function apply(effect: Effect, occurredAt: number, now: number): void {
    if (!isText(effect.id)) return;
    const last = occurredAt + longest;
    if (effect.kind === 'end') {
      addPrincipal(effect.id, effect.until, effect.admits ?? false, last + CLOCK_SKEW_MS);
      return;
    }
    const expires = Number.isFinite(effect.expires) ? Math.min(effect.expires, last) : last;
    const holder = isText(effect.holder) ? effect.holder : undefined;
    const until = Math.max(occurredAt, timeOfIssue({ jti: effect.id, iat: 0 }));
    const token = { holder, until, expiresAt: expires + CLOCK_SKEW_MS };
    if (token.expiresAt >= now) addToken(effect.id, token);
  }

  function forget(now: number): void {
    for (const [id, { expiresAt }] of tokens) if (expiresAt < now) drop(id);
    for (const [id, { expiresAt }] of principals) if (expiresAt < now) principals.delete(id);
    if (leftOut.length > 0) leftOut = leftOut.filter(({ lastAt }) => now - lastAt < kept);
  }

  return {
    /** Adds an event. Events that are added again, in their order, change nothing. @param now the service's time */
    add: (event: FeedEvent, now: number): void => {
      const effect = EFFECTS[event.type]?.(event);
      if (effect === undefined) return;
      if (!isText(effect.id)) return;
      // All are searched at most once in each second of the events.
      const second = Math.floor(now / 1000);
      if (size() >= limit && second !== searchedAt) {
        searchedAt = second;
        forget(now);
      }
      if (size() < limit || principals.has(effect.id)) apply(effect, event.occurredAt, now);
      else leaveOut(effect.id, now);
    },

    /**
     * Whether the token names something that was left out, and so may have ended: every one that does, and few others.
     * @param now the service's time
     */
    mayHaveEnded: (token: SignedToken, now: number): boolean => {
      const living = leftOut.filter(({ lastAt }) => now - lastAt < kept);
      if (living.length === 0) return false;
      return [token.claims.jti, ...principalsOf(token)].some(
        (id) => isText(id) && living.some(({ ids }) => ids.has(id)),
      );
    },

    /**
     * Whether the token, its agent, application or tenant, its issuer's key or anything that it is derived from has
     * ended; and whether it has expired so long ago that the book has forgotten it. @param now the service's time
     */
    hasEnded: (token: SignedToken, now: number): boolean => {
      const { claims } = token;
      if (Number(claims.exp) * 1000 + CLOCK_SKEW_MS < now) return true;
      if ([String(claims.jti), ...derivedFrom(claims)].some((id) => tokens.has(id))) return true;
      const issuedAt = timeOfIssue(claims);
      return principalsOf(token).some(
        (id) => isText(id) && issuedAt <= (principals.get(id)?.notBefore ?? -Infinity),
      );
    },

    /** Removes what no living token can need. @param now the service's time */
    forget,

    get size() {
      return size();
    },
  };
}

const derivedFrom = ({ derived_from: ids }: SignedToken['claims']): string[] =>
  Array.isArray(ids) ? ids.filter(isText) : [];

/** The ids of all whose end ends the token, its parents among them. */
function principalsOf({ header, claims }: SignedToken): unknown[] {
  const { sub, client_id, tenant_id, delegation_id } = claims;
  const actors = actorsOf(claims.act).flatMap((actor) => (actor.iss === undefined ? [actor.sub] : []));
  return [sub, client_id, tenant_id, delegation_id, header.kid, ...actors, ...derivedFrom(claims)];
}

function endOfToken({ token_id: id, sub, client_id, expires_at }: FeedEvent['data']): Effect {
  const holder = isText(client_id) && client_id !== AGENT_CLIENT_ID ? client_id : sub;
  return { kind: 'token', id, holder, expires: Date.parse(String(expires_at)) };
}

/** @returns the milliseconds in the `jti`, a UUIDv7 (RFC 9562 §5.7), because `iat` has only whole seconds */
function timeOfIssue({ jti, iat }: SignedToken['claims']): number {
  const id = String(jti);
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : Number(iat) * 1000;
}
