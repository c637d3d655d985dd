// SQL that inserts and reads challenges. redemption.store.ts consumes them.
import { AUTHENTICATION_FILTERS } from '../../events/catalogue.ts';
import { mayAuthenticate } from '../../identity/keys/key.ts';
import { columnsOf } from '../../platform/columns.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import { nestRow } from '../../platform/database/nested-row.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { isHeard } from '../../webhooks/intake/fan-out.ts';
import { type Challenge, HOLDER_VERSION, type Holder } from './challenge.ts';

/** `now` is the database's time. */
export type Found<Row> = Row & { readonly now: Date };

type HolderRow = Found<Holder>;

/** `version` is another text after each change of the key or its agent. */
export type FoundHolder = Found<{
  readonly holder: Holder;
  readonly version: string;
  readonly isHeard: boolean;
}>;

/** `key.id` is null when the key is deleted. */
type LoadedRow = Found<{
  readonly version: string;
  readonly tenantId: string;
  readonly challenge: Challenge;
  readonly key: Holder['key'] | { readonly id: null };
  readonly agent: Holder['agent'];
  readonly isHeard: boolean;
}>;

export type HolderName = { readonly tenantId: string; readonly fingerprint: string };
export type ChallengeName = { readonly tenantId: string; readonly id: string };

export type NewChallenge = Omit<Challenge, 'createdAt' | 'expiresAt' | 'consumedAt' | 'isExpired'> & {
  readonly tenantId: string;
  readonly agentId: string;
  readonly keyId: string;
};

const HOLDER = `
  k.id AS "key.id", k.algorithm AS "key.algorithm", k.public_key AS "key.publicKey", k.fingerprint AS "key.fingerprint",
  k.state AS "key.state", k.sunset_at AS "key.sunsetAt", k.deprecated_at AS "key.deprecatedAt",
  coalesce(k.last_used_at > now() - interval '1 minute', false) AS "key.isUseNoted", k.verified_at IS NOT NULL AS "key.isVerified",
  a.id AS "agent.id", a.name AS "agent.name", a.capabilities AS "agent.capabilities", a.status AS "agent.status",
  a.deleted_at IS NOT NULL AS "agent.isDeleted", a.audience AS "agent.audience", a.audiences AS "agent.audiences",
  a.scopes AS "agent.scopes", a.dpop_bound_access_tokens AS "agent.dpopBoundAccessTokens", now() AS now`;

const BY_FINGERPRINT = `
SELECT ${HOLDER}, k.tenant_id AS "tenantId", ${HOLDER_VERSION} AS version, ${isHeard('k.tenant_id', '$3')} AS "isHeard"
FROM unnest($1::uuid[], $2::text[]) AS asked (tenant_id, fingerprint)
JOIN agent_keys k ON k.tenant_id = asked.tenant_id AND k.fingerprint = asked.fingerprint
JOIN agents a ON a.id = k.agent_id`;

// An es256k key and a bip340 key with the same point have the same alias, and anybody can register the point of another
// agent's key. A usable key is preferred, then a verified one, whose owner has signed with it, then the older one.
const BY_ALIAS = `
SELECT ${HOLDER} FROM agent_keys k JOIN agents a ON a.id = k.agent_id
WHERE k.tenant_id = $1
  AND (k.aliases[1] = $2 OR k.aliases[2] = $2 OR k.aliases[3] = $2 OR k.aliases[4] = $2)
ORDER BY k.state = 'revoked' OR coalesce(k.sunset_at <= now(), false), k.verified_at IS NULL, k.id`;

const NEW = columnsOf<NewChallenge>(
  {
    uuid: ['id', 'tenantId', 'agentId', 'keyId'],
    text: ['keyFingerprint', 'algorithm', 'nonce', 'audience', 'resource'],
  },
  { joined: ['text', ({ scopes }) => scopes.join(' ')] },
);

// The commit does not wait for the disk, because an agent can request a new challenge when a crash of the database
// loses one. A repeated statement finds its own row and returns that row's times.
const INSERT = `
INSERT INTO challenges
  (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, token_audience, created_at, expires_at)
SELECT id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, decode(nonce, 'hex'), audience, string_to_array(joined, ' '),
  resource, date_trunc('second', now()), date_trunc('second', now()) + make_interval(secs => $1)
FROM set_config('synchronous_commit', 'off', true), ${NEW.from('row', 2)}
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING id, created_at AS "createdAt", expires_at AS "expiresAt"`;

const LOAD = `
SELECT c.tenant_id AS "tenantId", c.id AS "challenge.id", c.key_fingerprint AS "challenge.keyFingerprint",
  c.algorithm AS "challenge.algorithm", encode(c.nonce, 'hex') AS "challenge.nonce", c.audience AS "challenge.audience",
  c.scopes AS "challenge.scopes", c.token_audience AS "challenge.resource", c.created_at AS "challenge.createdAt",
  c.expires_at AS "challenge.expiresAt", c.consumed_at AS "challenge.consumedAt",
  c.expired_at IS NOT NULL AS "challenge.isExpired", ${HOLDER}, ${HOLDER_VERSION} AS version,
  ${isHeard('c.tenant_id', '$3')} AS "isHeard"
FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, id)
JOIN challenges c ON c.tenant_id = asked.tenant_id AND c.id = asked.id
LEFT JOIN agent_keys k ON k.id = c.key_id AND k.tenant_id = c.tenant_id
LEFT JOIN agents a ON a.id = k.agent_id`;

/**
 * Finds keys and their agents by fingerprint. `isHeard` is true when a subscription gets the events of an
 * authentication. @returns for each name, in order, the key or null
 */
export async function findHolders(
  queryable: Queryable,
  names: readonly HolderName[],
): Promise<(FoundHolder | null)[]> {
  const { rows } = await queryable.query(BY_FINGERPRINT, [
    names.map(({ tenantId }) => tenantId),
    names.map(({ fingerprint }) => fingerprint),
    AUTHENTICATION_FILTERS,
  ]);
  const found = new Map(
    rows.map((row) => {
      const { tenantId, key, agent, ...found } = nestRow<
        HolderRow & Omit<FoundHolder, 'holder'> & { tenantId: string }
      >(row);
      return [`${tenantId}:${key.fingerprint}`, { ...found, holder: { key, agent } }];
    }),
  );
  return names.map(({ tenantId, fingerprint }) => found.get(`${tenantId}:${fingerprint}`) ?? null);
}

/**
 * Finds a key and its agent by one of the key's aliases.
 * @returns null also when usable keys of several agents have the alias and it cannot be told whose it is: none of them
 *   or several are verified
 */
export async function findHolderByAlias(
  queryable: Queryable,
  { tenantId, fingerprint }: HolderName,
): Promise<Found<{ holder: Holder }> | null> {
  const { rows } = await queryable.query(BY_ALIAS, [tenantId, fingerprint]);
  const [first, ...others] = rows.map((row) => nestRow<HolderRow>(row));
  if (first === undefined) return null;
  const { key, agent, now } = first;
  const isRival = (other: Holder) =>
    other.agent.id !== agent.id && other.key.isVerified === key.isVerified && mayAuthenticate(other.key, now);
  return others.some(isRival) ? null : { holder: { key, agent }, now };
}

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
  const { rows } = await queryable.query<Pick<Challenge, 'id' | 'createdAt' | 'expiresAt'>>(INSERT, [
    lifetime,
    ...NEW.of(challenges),
  ]);
  const written = new Map(rows.map((row) => [row.id, row]));
  return challenges.map(({ tenantId, agentId, keyId, ...challenge }) => {
    const times = written.get(challenge.id);
    if (times === undefined) throw new Error('the insert of a challenge returned nothing');
    return { ...challenge, ...times, consumedAt: null, isExpired: false };
  });
}

/**
 * Loads challenges with the current rows of their keys and agents. `holder` is null when the key is deleted. `isHeard`
 * is true when a subscription gets the events of an authentication.
 * @returns for each name, in order, the challenge or null
 */
export async function load(
  queryable: Queryable,
  names: readonly ChallengeName[],
): Promise<
  (Found<{ challenge: Challenge; holder: Holder | null; version: string; isHeard: boolean }> | null)[]
> {
  const { rows } = await queryable.query(LOAD, [
    names.map(({ tenantId }) => tenantId),
    names.map(({ id }) => id),
    AUTHENTICATION_FILTERS,
  ]);
  const found = new Map(
    rows.map((row) => {
      const { tenantId, challenge, key, agent, version, isHeard, now } = nestRow<LoadedRow>(row);
      const holder = key.id === null ? null : { key, agent };
      return [`${tenantId}:${challenge.id}`, { challenge, holder, version, isHeard, now }];
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
