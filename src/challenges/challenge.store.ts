// All SQL of challenges. Postgres decides who uses one: a single UPDATE consumes it, or nobody does.
import type { Queryable } from '../database/transaction.ts';
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
  agent_id: string;
  name: string;
  capabilities: string[];
  status: Holder['agent']['status'];
  is_deleted: boolean;
  agent_audience: string | null;
  agent_scopes: string[];
};

type ChallengeRow = {
  id: string;
  key_fingerprint: string;
  algorithm: Challenge['algorithm'];
  nonce: Buffer;
  audience: string;
  scopes: string[];
  created_at: Date;
  expires_at: Date;
  consumed_at: Date | null;
};

/** `now` is the database's clock. */
export type Found<Row> = Row & { readonly now: Date };

export type NewChallenge = Omit<Challenge, 'createdAt' | 'expiresAt' | 'consumedAt'> & {
  readonly tenantId: string;
  readonly agentId: string;
  readonly keyId: string;
};

const HOLDER = `
  k.id AS key_id, k.algorithm AS key_algorithm, k.public_key, k.fingerprint, k.state, k.sunset_at, k.deprecated_at,
  coalesce(k.last_used_at > now() - interval '1 minute', false) AS is_use_noted,
  a.id AS agent_id, a.name, a.capabilities, a.status, a.deleted_at IS NOT NULL AS is_deleted,
  a.audience AS agent_audience, a.scopes AS agent_scopes, now() AS now`;

const BY_FINGERPRINT = `
SELECT ${HOLDER} FROM agent_keys k JOIN agents a ON a.id = k.agent_id
WHERE k.tenant_id = $1 AND k.fingerprint = $2`;

// The aliases of an es256k and a bip340 key on one point are the same: a usable key goes first, then the older one.
const BY_ALIAS = `
SELECT ${HOLDER} FROM agent_keys k JOIN agents a ON a.id = k.agent_id
WHERE k.tenant_id = $1 AND (k.aliases[1] = $2 OR k.aliases[2] = $2)
ORDER BY k.state = 'revoked' OR coalesce(k.sunset_at <= now(), false), k.id LIMIT 1`;

// Not waiting for the disk: a challenge that a crash of the database loses is asked for again.
const INSERT = `
INSERT INTO challenges
  (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, created_at, expires_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, date_trunc('second', now()), date_trunc('second', now()) + make_interval(secs => $10)
FROM set_config('synchronous_commit', 'off', true)
RETURNING created_at, expires_at`;

const LOAD = `
SELECT c.id, c.key_fingerprint, c.algorithm, c.nonce, c.audience, c.scopes, c.created_at, c.expires_at, c.consumed_at, ${HOLDER}
FROM challenges c
LEFT JOIN agent_keys k ON k.id = c.key_id AND k.tenant_id = c.tenant_id
LEFT JOIN agents a ON a.id = k.agent_id
WHERE c.tenant_id = $1 AND c.id = $2`;

// The locks, agent first, make a suspension or revocation wait until this transaction has ended, so that it also ends the
// refresh token made here; one that came first is seen after the wait, and then nothing is consumed.
const CONSUME = `
WITH usable AS MATERIALIZED (
  SELECT c.key_id
  FROM challenges c JOIN agent_keys k ON k.id = c.key_id JOIN agents a ON a.id = c.agent_id
  WHERE c.tenant_id = $1 AND c.id = $2 AND a.deleted_at IS NULL AND a.status = 'active' AND c.scopes <@ a.scopes
    AND (k.state = 'active' OR (k.state = 'deprecated' AND k.sunset_at > now()))
  FOR KEY SHARE OF a, k
), consumed AS (
  UPDATE challenges SET consumed_at = now() FROM usable
  WHERE challenges.id = $2 AND consumed_at IS NULL AND expires_at > now()
  RETURNING usable.key_id
), verified AS (
  UPDATE agent_keys SET verified_at = now() FROM consumed
  WHERE agent_keys.id = consumed.key_id AND verified_at IS NULL
  RETURNING agent_keys.id
)
SELECT EXISTS (SELECT 1 FROM verified) AS is_first_use FROM consumed`;

/** SQL of challenges; every function is one round trip on the caller's connection unless it says more. */
export function createChallengeStore() {
  return {
    /** Finds a key, with its agent, by its fingerprint, else (a second round trip) by one of its aliases. */
    findHolder: async (
      queryable: Queryable,
      tenantId: string,
      fingerprint: string,
    ): Promise<Found<{ holder: Holder }> | null> => {
      const values = [tenantId, fingerprint];
      const named = await queryable.query<Found<HolderRow>>(BY_FINGERPRINT, values);
      const row = named.rows[0] ?? (await queryable.query<Found<HolderRow>>(BY_ALIAS, values)).rows[0];
      return row === undefined ? null : { holder: toHolder(row), now: row.now };
    },

    /** @param lifetime seconds @returns the challenge with its times, whole seconds of the database's clock */
    insert: async (queryable: Queryable, challenge: NewChallenge, lifetime: number): Promise<Challenge> => {
      const { id, tenantId, agentId, keyId, ...rest } = challenge;
      const { rows } = await queryable.query<Pick<ChallengeRow, 'created_at' | 'expires_at'>>(INSERT, [
        id,
        tenantId,
        agentId,
        keyId,
        rest.keyFingerprint,
        rest.algorithm,
        Buffer.from(rest.nonce, 'hex'),
        rest.audience,
        rest.scopes,
        lifetime,
      ]);
      const row = rows[0];
      if (row === undefined) throw new Error('the insert of a challenge returned nothing');
      return { id, ...rest, createdAt: row.created_at, expiresAt: row.expires_at, consumedAt: null };
    },

    /** Loads a challenge with its key and agent as they are now; `holder` is null when the key is gone. */
    load: async (
      queryable: Queryable,
      tenantId: string,
      id: string,
    ): Promise<Found<{ challenge: Challenge; holder: Holder | null }> | null> => {
      const { rows } = await queryable.query<Found<ChallengeRow & (HolderRow | { key_id: null })>>(LOAD, [
        tenantId,
        id,
      ]);
      const row = rows[0];
      if (row === undefined) return null;
      return {
        challenge: toChallenge(row),
        holder: row.key_id === null ? null : toHolder(row),
        now: row.now,
      };
    },

    /**
     * Consumes a challenge if it is unused and not expired, its key and agent may authenticate and its scopes are still the
     * agent's; a key's first use also verifies the key.
     * @returns null when nothing was consumed
     */
    consume: async (
      unit: Queryable,
      tenantId: string,
      id: string,
    ): Promise<{ isFirstUse: boolean } | null> => {
      const { rows } = await unit.query<{ is_first_use: boolean }>(CONSUME, [tenantId, id]);
      const row = rows[0];
      return row === undefined ? null : { isFirstUse: row.is_first_use };
    },
  };
}

export type ChallengeStore = ReturnType<typeof createChallengeStore>;

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
    },
    agent: {
      id: row.agent_id,
      name: row.name,
      capabilities: row.capabilities,
      status: row.status,
      isDeleted: row.is_deleted,
      audience: row.agent_audience,
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
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    consumedAt: row.consumed_at,
  };
}
