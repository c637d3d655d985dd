// SQL that consumes challenges and writes all that follows from it in one statement. Postgres decides who uses a challenge; what
// belongs to other rooms is their part of the statement.
import type { AuditRecord, AuditService } from '../../audit/audit.service.ts';
import type { EventRecord, EventService } from '../../events/event.service.ts';
import type { RotationService, SwitchedKey } from '../../identity/keys/rotation.service.ts';
import { ADMITTED, composeStatement, FIRST_USED } from '../../platform/database/statement-parts.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { RefreshTokenRecord, TokenService } from '../tokens/token.service.ts';

/** What one verification writes once its challenge is consumed; `firstUse` only when that verifies the key. */
export type Redemption = {
  readonly tenantId: string;
  readonly challengeId: string;
  readonly refreshToken: RefreshTokenRecord;
  readonly audit: readonly AuditRecord[];
  readonly events: readonly EventRecord[];
  readonly firstUse: { readonly audit: readonly AuditRecord[]; readonly events: readonly EventRecord[] };
};

// The locks make a suspension or revocation wait until this statement has ended, so that it also ends the refresh token made here;
// one that came first is seen after the wait, and then nothing is consumed. They are taken agent first and in the order of ids.
// What is in the audit log as expired is never used, also by the clock of a standby which took over and is behind.
const consume = (locking: '' | 'SKIP LOCKED') => ({
  text: `
asked AS (
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS row (tenant_id, id)
), usable AS MATERIALIZED (
  SELECT c.id, c.key_id
  FROM asked JOIN challenges c ON c.id = asked.id AND c.tenant_id = asked.tenant_id
    JOIN agents a ON a.id = c.agent_id JOIN agent_keys k ON k.id = c.key_id
  WHERE c.consumed_at IS NULL AND c.expired_at IS NULL AND c.expires_at > now()
    AND a.deleted_at IS NULL AND a.status = 'active' AND c.scopes <@ a.scopes
    AND (c.token_audience IS NULL OR c.token_audience = ANY (a.audiences) OR c.token_audience =
      coalesce(a.audience, (SELECT coalesce(audience, base_url) FROM tenants WHERE tenants.id = c.tenant_id)))
    AND (k.state = 'active' OR (k.state = 'deprecated' AND k.sunset_at > now()))
  ORDER BY c.id
  FOR KEY SHARE OF a, k ${locking} FOR NO KEY UPDATE OF c ${locking}
), consumed AS (
  UPDATE challenges SET consumed_at = now() FROM usable
  WHERE challenges.id = usable.id AND consumed_at IS NULL AND expired_at IS NULL
  RETURNING challenges.id, usable.key_id
), unused AS MATERIALIZED (
  SELECT id, verified_at IS NULL AS is_unverified FROM agent_keys
  WHERE id IN (SELECT key_id FROM consumed) AND first_used_at IS NULL
  ORDER BY id FOR NO KEY UPDATE
), ${FIRST_USED} AS (
  UPDATE agent_keys SET first_used_at = now(), verified_at = coalesce(verified_at, now()) FROM unused
  WHERE agent_keys.id = unused.id AND first_used_at IS NULL
  RETURNING agent_keys.id, is_unverified
), ${ADMITTED} AS (
  SELECT id::text AS guard FROM consumed
  UNION ALL
  SELECT 'first:' || min(id::text) FROM consumed
  WHERE key_id IN (SELECT id FROM ${FIRST_USED} WHERE is_unverified) GROUP BY key_id
)`,
  valuesOf: (redemptions: readonly Redemption[]) => [
    redemptions.map(({ tenantId }) => tenantId),
    redemptions.map(({ challengeId }) => challengeId),
  ],
});

const ANSWER = `
SELECT ARRAY(SELECT id::text FROM consumed) AS consumed, (SELECT coalesce(sum(deliveries), 0)::int FROM accepted) AS deliveries,
  (SELECT json_agg(json_build_object('tenantId', tenant_id, 'keyId', entity_id)) FROM switched) AS switched`;

/** SQL of redemptions; every function is one round trip. */
export function createRedemptionStore({
  database,
  tokens,
  audit,
  events,
  rotations,
}: {
  database: Queryable;
  tokens: Pick<TokenService, 'refreshTokenPart'>;
  audit: Pick<AuditService, 'parts'>;
  events: Pick<EventService, 'parts'>;
  rotations: Pick<RotationService, 'firstUsePart'>;
}) {
  const others = [
    tokens.refreshTokenPart,
    audit.parts.admitted,
    events.parts.admitted,
    rotations.firstUsePart,
  ] as const;
  const skipping = composeStatement([consume('SKIP LOCKED'), ...others], ANSWER);
  const waiting = composeStatement([consume(''), ...others], ANSWER);

  return {
    /**
     * Consumes each challenge that is unused and not expired, whose key and agent may authenticate and whose scopes and resource are still
     * the agent's, and writes what belongs to it; a key's first use also verifies the key, and tells the rotation that waits for it.
     * @param options.waits whether to wait for rows that somebody holds; such challenges are left alone otherwise
     * @returns ids of the challenges that were consumed, the number of deliveries made, and the keys that agents have left for another
     */
    redeem: async (
      redemptions: readonly Redemption[],
      { waits }: { waits: boolean },
    ): Promise<{ consumed: ReadonlySet<string>; deliveries: number; switched: readonly SwitchedKey[] }> => {
      const { rows } = await database.query<{
        consumed: string[];
        deliveries: number;
        switched: SwitchedKey[] | null;
      }>(waits ? waiting : skipping, [
        ...consume('').valuesOf(redemptions),
        ...tokens.refreshTokenPart.valuesOf(
          redemptions.map(({ challengeId, refreshToken }) => [challengeId, refreshToken]),
        ),
        ...audit.parts.admitted.valuesOf(guard(redemptions, (part) => part.audit)),
        ...events.parts.admitted.valuesOf(guard(redemptions, (part) => part.events)),
      ]);
      const [row] = rows;
      return {
        consumed: new Set(row?.consumed),
        deliveries: row?.deliveries ?? 0,
        switched: row?.switched ?? [],
      };
    },

    /** Whether a redemption was committed, told by the refresh token that it made. */
    isRedeemed: async ({ refreshToken }: Redemption): Promise<boolean> => {
      const { rows } = await database.query('SELECT 1 FROM refresh_tokens WHERE id = $1', [refreshToken.id]);
      return rows.length > 0;
    },
  };
}

export type RedemptionStore = ReturnType<typeof createRedemptionStore>;

/** Rows with what must be admitted for them to be written: the challenge's use, or its being the first of its key. */
function guard<Row>(
  redemptions: readonly Redemption[],
  rowsOf: (part: Redemption | Redemption['firstUse']) => readonly Row[],
): (readonly [guard: string, row: Row])[] {
  return redemptions.flatMap((redemption) => [
    ...rowsOf(redemption).map((row) => [redemption.challengeId, row] as const),
    ...rowsOf(redemption.firstUse).map((row) => [`first:${redemption.challengeId}`, row] as const),
  ]);
}
