// SQL of successful verifications. One statement consumes challenges and writes all other rows for the consumed ones.
// docs/decisions/0005-write-coalescing.md
import { type AuditRecord, ENTRY_COLUMNS, insertEntries } from '../../audit/audit.ts';
import { AUTHENTICATION_FILTERS } from '../../events/catalogue.ts';
import { EVENT_COLUMNS, type EventRecord, readEvents } from '../../events/event.ts';
import { firstUse } from '../../identity/keys/first-use.ts';
import { HOLDER_VERSION } from '../../identity/keys/key.ts';
import type { SwitchedKey } from '../../identity/keys/rotation.service.ts';
import { isAmong } from '../../platform/columns.ts';
import { changed, only } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { usedInTime } from '../../platform/database/used-in-time.ts';
import { enqueueCommands } from '../../platform/temporal/enqueued-commands.ts';
import { EMIT_INPUT, isHeard } from '../../webhooks/intake/fan-out.ts';
import type { PreparedRecords } from '../../webhooks/intake/record.service.ts';
import { insertRefreshTokens, NEW_TOKEN_COLUMNS } from '../tokens/new-refresh-token.ts';
import type { RefreshTokenRecord } from '../tokens/token.service.ts';

/** The rows of one verification. `firstUse` is present only when this verification is the first use of the key. */
export type Redemption = PreparedRecords & {
  readonly tenantId: string;
  readonly challengeId: string;
  readonly refreshToken: RefreshTokenRecord;
  /** The version of key and agent by which the tokens were decided. */
  readonly version: string;
  /** The records have the events; without them no subscription may get them. */
  readonly isTold: boolean;
  readonly firstUse: PreparedRecords;
};

/** Result of the statement. `switched` are old keys whose new key was used for the first time. */
export type Redeemed = {
  readonly consumed: ReadonlySet<string>;
  readonly deliveries: number;
  readonly switched: readonly SwitchedKey[];
};

// The first parameter of each batch; $1 are the filters.
const ASKED = 2;
const AUDIT = ASKED + NEW_TOKEN_COLUMNS.count + 3;
const EVENTS = AUDIT + ENTRY_COLUMNS.count + 1;

// `usable` locks the agent before the key, in the order of ids. A concurrent change of one of them therefore waits
// until this statement has ended, and then also ends the tokens of this statement; a change that was first gives the
// rows another version, and nothing is consumed. A challenge that the audit log counts as expired stays unused, even
// when a standby with a slow clock has become the primary. The end of a challenge is compared by a difference: by its
// index the planner would begin with all open challenges.
// `decided` compares the time after the wait for the locks, because a challenge or a key may have ended meanwhile; a
// sunset is set under a lock that excludes these. The `condition` of a row is the id of a challenge that must be
// consumed, or `first:` and the id of the challenge that verified its key.
const redeemBy = (locking: '' | 'SKIP LOCKED') =>
  only<{ consumed: string[]; deliveries: number; switched: SwitchedKey[] | null }, unknown[]>(`
WITH asked AS (
  SELECT * FROM ${NEW_TOKEN_COLUMNS.from('row', ASKED, { challenge_id: 'uuid', version: 'text', is_told: 'boolean' })}
), usable AS MATERIALIZED (
  SELECT c.id, c.key_id, least(c.expires_at, CASE WHEN k.state = 'deprecated' THEN k.sunset_at END) AS ends_at
  FROM asked JOIN challenges c ON c.id = asked.challenge_id AND c.tenant_id = asked.tenant_id
    JOIN agents a ON a.id = c.agent_id AND a.tenant_id = c.tenant_id JOIN agent_keys k ON k.id = c.key_id
  WHERE c.consumed_at IS NULL AND c.expired_at IS NULL AND c.expires_at - now() > interval '0'
    AND ${HOLDER_VERSION} = asked.version AND (asked.is_told OR NOT ${isHeard('c.tenant_id', '$1')})
  ORDER BY c.id
  FOR KEY SHARE OF a, k ${locking} FOR NO KEY UPDATE OF c ${locking}
), decided AS MATERIALIZED (${usedInTime('usable')}
), consumed AS (
  UPDATE challenges SET consumed_at = decided.at FROM decided
  WHERE challenges.id = decided.id AND consumed_at IS NULL AND expired_at IS NULL
  RETURNING challenges.id, decided.key_id
), ${firstUse('consumed')}, switched AS (
  ${enqueueCommands(
    'agentKeyRotation',
    'first_used used JOIN key_rotations r ON r.new_key_id = used.id WHERE r.ended_at IS NULL',
    'r.old_key_id',
  )}
  RETURNING tenant_id, entity_id
), new_refresh_tokens AS (
  ${insertRefreshTokens(`asked WHERE ${isAmong('challenge_id', 'consumed', 'id')}`)}
  ON CONFLICT DO NOTHING
), fulfilled AS (
  SELECT id::text AS condition FROM consumed
  UNION ALL
  SELECT 'first:' || min(id::text) FROM consumed
  WHERE key_id IN (SELECT id FROM first_used WHERE is_unverified) GROUP BY key_id
), new_audit_entries AS (
  ${insertEntries({ first: AUDIT, only: { name: 'condition', type: 'text', of: 'fulfilled' } })}
), input AS (
  ${readEvents(EVENTS, { condition: 'text' })} WHERE ${isAmong('condition', 'fulfilled')}
), ${EMIT_INPUT}
SELECT ARRAY(SELECT id::text FROM consumed) AS consumed, (SELECT coalesce(sum(deliveries), 0)::int FROM accepted) AS deliveries,
  (SELECT json_agg(json_build_object('tenantId', tenant_id, 'keyId', entity_id)) FROM switched) AS switched`);

const redeemSkipping = redeemBy('SKIP LOCKED');
const redeemWaiting = redeemBy('');

/**
 * Consumes each challenge that passes all conditions, and writes its rows. The challenge must be unused and not
 * expired, its key and agent as they were read. The first use of a key also verifies the key and enqueues a signal to a
 * rotation workflow that waits for it.
 * @param options.waits whether to wait for locked rows; otherwise challenges with locked rows are skipped
 */
export async function redeem(
  queryable: Queryable,
  redemptions: readonly Redemption[],
  { waits }: { waits: boolean },
): Promise<Redeemed> {
  const row = await (waits ? redeemWaiting : redeemSkipping)(queryable, ...valuesOf(redemptions));
  return { ...row, consumed: new Set(row.consumed), switched: row.switched ?? [] };
}

/** Returns whether a redemption was committed: its refresh token is stored. */
export const isRedeemed = changed<[refreshTokenId: string]>('SELECT 1 FROM refresh_tokens WHERE id = $1');

function valuesOf(redemptions: readonly Redemption[]): unknown[] {
  const audit = conditional<AuditRecord>(redemptions, (records) => records.audit);
  const events = conditional<EventRecord>(redemptions, (records) => records.events);
  return [
    AUTHENTICATION_FILTERS,
    ...NEW_TOKEN_COLUMNS.of(redemptions.map(({ refreshToken }) => refreshToken)),
    redemptions.map(({ challengeId }) => challengeId),
    redemptions.map(({ version }) => version),
    redemptions.map(({ isTold }) => isTold),
    ...ENTRY_COLUMNS.of(audit.rows),
    audit.conditions,
    ...EVENT_COLUMNS.of(events.rows),
    events.conditions,
  ];
}

function conditional<Row>(
  redemptions: readonly Redemption[],
  rowsOf: (records: PreparedRecords) => readonly Row[],
): { rows: Row[]; conditions: string[] } {
  const pairs = redemptions.flatMap((redemption) => [
    ...rowsOf(redemption).map((row) => [row, redemption.challengeId] as const),
    ...rowsOf(redemption.firstUse).map((row) => [row, `first:${redemption.challengeId}`] as const),
  ]);
  return { rows: pairs.map(([row]) => row), conditions: pairs.map(([, condition]) => condition) };
}
