// SQL that inserts and reads challenges. redemption.store.ts consumes them.
import { AUTHENTICATION_FILTERS } from '../../events/catalogue.ts';
import { HOLDER_VERSION, mayAuthenticate } from '../../identity/keys/key.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import { type Flat, nestRow } from '../../platform/database/nested-row.ts';
import { many } from '../../platform/database/statements.ts';
import { batchOf } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { isHeard } from '../../webhooks/intake/fan-out.ts';
import { CHALLENGE, type ChallengeRow } from './challenge.model.ts';
import type { Challenge, Holder } from './challenge.ts';

/** `now` is the database's time. */
type Found<Row> = Row & { readonly now: Date };

/** `version` is another text after each change of the key or its agent. */
type Judged = Found<{ readonly version: string; readonly isHeard: boolean }>;

export type FoundHolder = Judged & { readonly holder: Holder };

type HolderRow = Judged & Holder & { readonly tenantId: string };

/** `key.id` is null when the key is deleted. */
type LoadedRow = Judged & {
  readonly tenantId: string;
  readonly challenge: Challenge;
  readonly key: Omit<Holder['key'], 'id'> & { readonly id: string | null };
  readonly agent: Holder['agent'];
};

export type HolderName = { readonly tenantId: string; readonly fingerprint: string };
export type ChallengeName = { readonly tenantId: string; readonly id: string };

export type NewChallenge = Omit<Challenge, 'createdAt' | 'expiresAt' | 'consumedAt' | 'isExpired'> &
  Pick<ChallengeRow, 'tenantId' | 'agentId' | 'keyId'>;

const HOLDER = `
  k.id AS "key.id", k.algorithm AS "key.algorithm", k.public_key AS "key.public_key", k.fingerprint AS "key.fingerprint",
  k.state AS "key.state", k.sunset_at AS "key.sunset_at", k.deprecated_at AS "key.deprecated_at",
  coalesce(k.last_used_at > now() - interval '1 minute', false) AS "key.is_use_noted", k.verified_at IS NOT NULL AS "key.is_verified",
  a.id AS "agent.id", a.name AS "agent.name", a.capabilities AS "agent.capabilities", a.status AS "agent.status",
  a.deleted_at IS NOT NULL AS "agent.is_deleted", a.audience AS "agent.audience", a.audiences AS "agent.audiences",
  a.scopes AS "agent.scopes", a.dpop_bound_access_tokens AS "agent.dpop_bound_access_tokens", now() AS now`;

const byFingerprint = many<
  Flat<HolderRow, 'key' | 'agent'>,
  [tenantIds: readonly string[], fingerprints: readonly string[], filters: readonly string[]]
>(`
SELECT ${HOLDER}, k.tenant_id, ${HOLDER_VERSION} AS version, ${isHeard('k.tenant_id', '$3')} AS is_heard
FROM unnest($1::uuid[], $2::text[]) AS asked (tenant_id, fingerprint)
JOIN agent_keys k ON k.tenant_id = asked.tenant_id AND k.fingerprint = asked.fingerprint
JOIN agents a ON a.id = k.agent_id`);

/**
 * Finds keys and their agents by fingerprint. `isHeard` is true when a subscription gets the events of an
 * authentication. @returns for each name, in order, the key or null
 */
export async function findHolders(
  queryable: Queryable,
  names: readonly HolderName[],
): Promise<(FoundHolder | null)[]> {
  const rows = await byFingerprint(
    queryable,
    names.map(({ tenantId }) => tenantId),
    names.map(({ fingerprint }) => fingerprint),
    AUTHENTICATION_FILTERS,
  );
  const found = new Map(
    rows.map((row) => {
      const { tenantId, key, agent, ...found } = nestRow<HolderRow>(row);
      return [`${tenantId}:${key.fingerprint}`, { ...found, holder: { key, agent } }];
    }),
  );
  return names.map(({ tenantId, fingerprint }) => found.get(`${tenantId}:${fingerprint}`) ?? null);
}

// An es256k key and a bip340 key with the same point have the same alias, and anybody can register the point of another
// agent's key. A usable key is preferred, then a verified one, whose owner has signed with it, then the older one.
const byAlias = many<Flat<Found<Holder>, 'key' | 'agent'>, [tenantId: string, alias: string]>(`
SELECT ${HOLDER} FROM agent_keys k JOIN agents a ON a.id = k.agent_id
WHERE k.tenant_id = $1
  AND (k.aliases[1] = $2 OR k.aliases[2] = $2 OR k.aliases[3] = $2 OR k.aliases[4] = $2)
ORDER BY k.state = 'revoked' OR coalesce(k.sunset_at <= now(), false), k.verified_at IS NULL, k.id`);

/**
 * Finds a key and its agent by one of the key's aliases.
 * @returns null also when usable keys of several agents have the alias and it cannot be told whose it is: none of them
 *   or several are verified
 */
export async function findHolderByAlias(
  queryable: Queryable,
  { tenantId, fingerprint }: HolderName,
): Promise<Found<{ holder: Holder }> | null> {
  const rows = await byAlias(queryable, tenantId, fingerprint);
  const [first, ...others] = rows.map((row) => nestRow<Found<Holder>>(row));
  if (first === undefined) return null;
  const { key, agent, now } = first;
  const isRival = (other: Holder) =>
    other.agent.id !== agent.id && other.key.isVerified === key.isVerified && mayAuthenticate(other.key, now);
  return others.some(isRival) ? null : { holder: { key, agent }, now };
}

const NEW = batchOf(
  CHALLENGE,
  ['id', 'tenantId', 'agentId', 'keyId', 'keyFingerprint', 'algorithm', 'audience'],
  {
    nonce: ['text', ({ nonce }: NewChallenge) => nonce],
    token_audience: ['text', ({ resource }: NewChallenge) => resource],
    joined: ['text', ({ scopes }: NewChallenge) => scopes.join(' ')],
  },
);

// The commit does not wait for the disk, because an agent can request a new challenge when a crash of the database
// loses one. A repeated statement finds its own row and returns that row's times.
const insertRows = many<Pick<Challenge, 'id' | 'createdAt' | 'expiresAt'>, unknown[]>(`
INSERT INTO challenges
  (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, token_audience, created_at, expires_at)
SELECT id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, decode(nonce, 'hex'), audience, string_to_array(joined, ' '),
  token_audience, date_trunc('second', now()), date_trunc('second', now()) + make_interval(secs => $1)
FROM set_config('synchronous_commit', 'off', true), ${NEW.from('row', 2)}
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING id, created_at, expires_at`);

/**
 * Inserts challenges, all or none.
 * @param lifetime seconds
 * @returns the challenges in the same order, with their times: whole seconds of the database's clock
 */
export async function insert(
  queryable: Queryable,
  challenges: readonly NewChallenge[],
  lifetime: number,
): Promise<Challenge[]> {
  const rows = await insertRows(queryable, lifetime, ...NEW.of(challenges));
  const written = new Map(rows.map((row) => [row.id, row]));
  return challenges.map(({ tenantId, agentId, keyId, ...challenge }) => {
    const times = written.get(challenge.id);
    if (times === undefined) throw new Error('the insert of a challenge returned nothing');
    return { ...challenge, ...times, consumedAt: null, isExpired: false };
  });
}

const loadRows = many<
  Flat<LoadedRow, 'challenge' | 'key' | 'agent'>,
  [tenantIds: readonly string[], ids: readonly string[], filters: readonly string[]]
>(`
SELECT c.tenant_id, c.id AS "challenge.id", c.key_fingerprint AS "challenge.key_fingerprint",
  c.algorithm AS "challenge.algorithm", encode(c.nonce, 'hex') AS "challenge.nonce", c.audience AS "challenge.audience",
  c.scopes AS "challenge.scopes", c.token_audience AS "challenge.resource", c.created_at AS "challenge.created_at",
  c.expires_at AS "challenge.expires_at", c.consumed_at AS "challenge.consumed_at",
  c.expired_at IS NOT NULL AS "challenge.is_expired", ${HOLDER}, ${HOLDER_VERSION} AS version,
  ${isHeard('c.tenant_id', '$3')} AS is_heard
FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, id)
JOIN challenges c ON c.tenant_id = asked.tenant_id AND c.id = asked.id
LEFT JOIN agent_keys k ON k.id = c.key_id AND k.tenant_id = c.tenant_id
LEFT JOIN agents a ON a.id = k.agent_id`);

const isKept = (key: LoadedRow['key']): key is Holder['key'] => key.id !== null;

/**
 * Loads challenges with the current rows of their keys and agents. `holder` is null when the key is deleted. `isHeard`
 * is true when a subscription gets the events of an authentication.
 * @returns for each name, in order, the challenge or null
 */
export async function load(
  queryable: Queryable,
  names: readonly ChallengeName[],
): Promise<((Pick<LoadedRow, 'challenge' | keyof Judged> & { readonly holder: Holder | null }) | null)[]> {
  const rows = await loadRows(
    queryable,
    names.map(({ tenantId }) => tenantId),
    names.map(({ id }) => id),
    AUTHENTICATION_FILTERS,
  );
  const found = new Map(
    rows.map((row) => {
      const { tenantId, key, agent, ...rest } = nestRow<LoadedRow>(row);
      const holder = isKept(key) ? { key, agent } : null;
      return [`${tenantId}:${rest.challenge.id}`, { ...rest, holder }];
    }),
  );
  return names.map(({ tenantId, id }) => found.get(`${tenantId}:${id.toLowerCase()}`) ?? null);
}

/**
 * Deletes challenges that expired a day ago, so that an answer up to a day late gets the right error code. An unmarked
 * challenge is kept until the sweep has counted it. @returns the number deleted, at most `limit`
 */
export const purge = deleteOldest('challenges', {
  key: ['id'],
  old: `expires_at < now() - interval '24 hours' AND expires_at < (SELECT swept_until FROM challenge_sweep)`,
  by: 'expires_at',
});
