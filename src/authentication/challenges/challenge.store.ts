// SQL that makes and reads challenges. Using one is in redemption.store.ts.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { Challenge, Holder } from './challenge.ts';

type HolderRow = {
  key_id: string;
  key_algorithm: Holder['key']['algorithm'];
  public_key: Uint8Array;
  fingerprint: string;
  state: Holder['key']['state'];
  sunset_at: Date | null;
  deprecated_at: Date | null;
  is_use_noted: boolean;
  is_verified: boolean;
  agent_id: string;
  name: string;
  capabilities: string[];
  status: Holder['agent']['status'];
  is_deleted: boolean;
  agent_audience: string | null;
  agent_audiences: string[];
  agent_scopes: string[];
};

type ChallengeRow = {
  id: string;
  key_fingerprint: string;
  algorithm: Challenge['algorithm'];
  nonce: Buffer;
  audience: string;
  scopes: string[];
  token_audience: string | null;
  created_at: Date;
  expires_at: Date;
  consumed_at: Date | null;
  is_expired: boolean;
};

/** `now` is the database's clock. */
export type Found<Row> = Row & { readonly now: Date };

type LoadedRow = Found<ChallengeRow & { tenant_id: string } & (HolderRow | { key_id: null })>;

/** How a request names a key, and a challenge. */
export type HolderName = { readonly tenantId: string; readonly fingerprint: string };
export type ChallengeName = { readonly tenantId: string; readonly id: string };

export type NewChallenge = Omit<Challenge, 'createdAt' | 'expiresAt' | 'consumedAt' | 'isExpired'> & {
  readonly tenantId: string;
  readonly agentId: string;
  readonly keyId: string;
};

const HOLDER = `
  k.id AS key_id, k.algorithm AS key_algorithm, k.public_key, k.fingerprint, k.state, k.sunset_at, k.deprecated_at,
  coalesce(k.last_used_at > now() - interval '1 minute', false) AS is_use_noted, k.verified_at IS NOT NULL AS is_verified,
  a.id AS agent_id, a.name, a.capabilities, a.status, a.deleted_at IS NOT NULL AS is_deleted,
  a.audience AS agent_audience, a.audiences AS agent_audiences, a.scopes AS agent_scopes, now() AS now`;

const BY_FINGERPRINT = `
SELECT ${HOLDER}, k.tenant_id FROM unnest($1::uuid[], $2::text[]) AS asked (tenant_id, fingerprint)
JOIN agent_keys k ON k.tenant_id = asked.tenant_id AND k.fingerprint = asked.fingerprint
JOIN agents a ON a.id = k.agent_id`;

// The aliases of an es256k and a bip340 key on one point are the same: a usable key goes first, then the older one.
const BY_ALIAS = `
SELECT ${HOLDER} FROM agent_keys k JOIN agents a ON a.id = k.agent_id
WHERE k.tenant_id = $1
  AND (k.aliases[1] = $2 OR k.aliases[2] = $2 OR k.aliases[3] = $2 OR k.aliases[4] = $2)
ORDER BY k.state = 'revoked' OR coalesce(k.sunset_at <= now(), false), k.id LIMIT 1`;

// Not waiting for the disk: a challenge that a crash of the database loses is asked for again. A repetition meets its own row,
// and must answer with that row's times.
const INSERT = `
INSERT INTO challenges
  (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, token_audience, created_at, expires_at)
SELECT id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, decode(nonce, 'hex'), audience, string_to_array(joined, ' '),
  token_audience, date_trunc('second', now()), date_trunc('second', now()) + make_interval(secs => $10)
FROM set_config('synchronous_commit', 'off', true),
  unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $11::text[])
    AS row (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, joined, token_audience)
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING id, created_at, expires_at`;

const LOAD = `
SELECT c.id, c.tenant_id, c.key_fingerprint, c.algorithm, c.nonce, c.audience, c.scopes, c.token_audience, c.created_at, c.expires_at, c.consumed_at,
  c.expired_at IS NOT NULL AS is_expired, ${HOLDER}
FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, id)
JOIN challenges c ON c.tenant_id = asked.tenant_id AND c.id = asked.id
LEFT JOIN agent_keys k ON k.id = c.key_id AND k.tenant_id = c.tenant_id
LEFT JOIN agents a ON a.id = k.agent_id`;

/** Finds keys, with their agents, by their fingerprints. @returns one or null for each, in their order */
export async function findHolders(
  queryable: Queryable,
  names: readonly HolderName[],
): Promise<(Found<{ holder: Holder }> | null)[]> {
  const { rows } = await queryable.query<Found<HolderRow> & { tenant_id: string }>(BY_FINGERPRINT, [
    names.map(({ tenantId }) => tenantId),
    names.map(({ fingerprint }) => fingerprint),
  ]);
  const found = new Map(rows.map((row) => [`${row.tenant_id}:${row.fingerprint}`, toFoundHolder(row)]));
  return names.map(({ tenantId, fingerprint }) => found.get(`${tenantId}:${fingerprint}`) ?? null);
}

/** Finds a key, with its agent, by one of its aliases. */
export async function findHolderByAlias(
  queryable: Queryable,
  { tenantId, fingerprint }: HolderName,
): Promise<Found<{ holder: Holder }> | null> {
  const { rows } = await queryable.query<Found<HolderRow>>(BY_ALIAS, [tenantId, fingerprint]);
  return rows[0] === undefined ? null : toFoundHolder(rows[0]);
}

/**
 * Inserts challenges, all or none.
 * @param lifetime seconds
 * @returns them in their order with their times, whole seconds of the database's clock
 */
export async function insert(
  queryable: Queryable,
  challenges: readonly NewChallenge[],
  lifetime: number,
): Promise<Challenge[]> {
  const { rows } = await queryable.query<Pick<ChallengeRow, 'id' | 'created_at' | 'expires_at'>>(INSERT, [
    challenges.map(({ id }) => id),
    challenges.map(({ tenantId }) => tenantId),
    challenges.map(({ agentId }) => agentId),
    challenges.map(({ keyId }) => keyId),
    challenges.map(({ keyFingerprint }) => keyFingerprint),
    challenges.map(({ algorithm }) => algorithm),
    challenges.map(({ nonce }) => nonce),
    challenges.map(({ audience }) => audience),
    challenges.map(({ scopes }) => scopes.join(' ')),
    lifetime,
    challenges.map(({ resource }) => resource),
  ]);
  const written = new Map(rows.map((row) => [row.id, row]));
  return challenges.map(({ tenantId, agentId, keyId, ...challenge }) => {
    const row = written.get(challenge.id);
    if (row === undefined) throw new Error('the insert of a challenge returned nothing');
    const times = { createdAt: row.created_at, expiresAt: row.expires_at, consumedAt: null };
    return { ...challenge, ...times, isExpired: false };
  });
}

/**
 * Loads challenges with their keys and agents as they are now; `holder` is null when the key is gone.
 * @returns one or null for each name, in their order
 */
export async function load(
  queryable: Queryable,
  names: readonly ChallengeName[],
): Promise<(Found<{ challenge: Challenge; holder: Holder | null }> | null)[]> {
  const { rows } = await queryable.query<LoadedRow>(LOAD, [
    names.map(({ tenantId }) => tenantId),
    names.map(({ id }) => id),
  ]);
  const found = new Map(rows.map((row) => [`${row.tenant_id}:${row.id}`, row]));
  return names.map(({ tenantId, id }) => {
    const row = found.get(`${tenantId}:${id.toLowerCase()}`);
    if (row === undefined) return null;
    const holder = row.key_id === null ? null : toHolder(row);
    return { challenge: toChallenge(row), holder, now: row.now };
  });
}

/**
 * Deletes challenges that ended a day ago; until then each tells truly what became of it. One that was not swept yet stays: it is
 * to be counted first. @returns how many, at most `limit`
 */
export async function purge(queryable: Queryable, limit: number): Promise<number> {
  const { rowCount } = await queryable.query(
    `DELETE FROM challenges c USING (
           SELECT id FROM challenges
           WHERE expires_at < now() - interval '24 hours' AND expires_at < (SELECT swept_until FROM challenge_sweep)
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         ) AS old WHERE c.id = old.id`,
    [limit],
  );
  return rowCount;
}

function toFoundHolder(row: Found<HolderRow>): Found<{ holder: Holder }> {
  return { holder: toHolder(row), now: row.now };
}

function toHolder(row: HolderRow): Holder {
  return {
    key: {
      id: row.key_id,
      algorithm: row.key_algorithm,
      publicKey: row.public_key,
      fingerprint: row.fingerprint,
      state: row.state,
      sunsetAt: row.sunset_at,
      deprecatedAt: row.deprecated_at,
      isUseNoted: row.is_use_noted,
      isVerified: row.is_verified,
    },
    agent: {
      id: row.agent_id,
      name: row.name,
      capabilities: row.capabilities,
      status: row.status,
      isDeleted: row.is_deleted,
      audience: row.agent_audience,
      audiences: row.agent_audiences,
      scopes: row.agent_scopes,
    },
  };
}

function toChallenge(row: ChallengeRow): Challenge {
  return {
    id: row.id,
    keyFingerprint: row.key_fingerprint,
    algorithm: row.algorithm,
    nonce: row.nonce.toString('hex'),
    audience: row.audience,
    scopes: row.scopes,
    resource: row.token_audience,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    consumedAt: row.consumed_at,
    isExpired: row.is_expired,
  };
}
