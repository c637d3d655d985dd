// SQL of the schedule of issuer keys. Each change is decided while the tenant's row is locked, by the database's time
// of that read.
import { countBreaches } from '../../platform/database/breach.ts';
import { changed, counted, many } from '../../platform/database/statements.ts';
import { batchOf } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import { EVENT_KEY, ISSUER_KEY } from './issuer-key.model.ts';
import type { IssuerAlgorithm, IssuerJwk } from './issuer-key.ts';
import type { KeyTimes, Schedule, ScheduledKey } from './key-schedule.ts';

/** `privateSealed` is PKCS #8 DER sealed with a master key. */
export type NewIssuerKey = Pick<ScheduledKey, 'id' | 'kid' | 'algorithm' | 'publishedAt' | 'activateAt'> & {
  readonly publicJwk: IssuerJwk;
  readonly privateSealed: Uint8Array;
};

/** The key for deliveries that belongs to an issuer key, sealed likewise. */
export type DeliveryKey = { readonly deliveryJwk: IssuerJwk; readonly deliverySealed: Uint8Array };

type Row = Pick<Schedule, 'now'> & { readonly tenantAlgorithm: IssuerAlgorithm } & (
    | ScheduledKey
    | { readonly id: null }
  );

/** @param table of the keys @param algorithm of the tenant's next key: a literal, or a column of `tenants` as t */
function createKeyScheduleStore(
  table: typeof ISSUER_KEY | typeof EVENT_KEY,
  algorithm: string,
  { signsDeliveries }: { readonly signsDeliveries: boolean },
) {
  // Truncated to milliseconds, because times in JavaScript have milliseconds. A time that is stored as `now` then
  // counts as reached.
  const read = many<Row, [tenantId: string]>(`
SELECT date_trunc('milliseconds', clock_timestamp()) AS now, ${algorithm} AS tenant_algorithm, k.created_at AS published_at,
       k.id, k.kid, k.algorithm, k.activate_at, k.retire_at, k.remove_at, k.revoked_at, k.private_sealed IS NOT NULL AS sealed
FROM tenants t LEFT JOIN ${table.name} k ON k.tenant_id = t.id
WHERE t.id = $1 ORDER BY k.activate_at, k.kid DESC`);

  const TIMES = batchOf(table, ['kid', 'retireAt', 'removeAt']);
  const setTimes = counted<[tenantId: string, ...times: unknown[][]]>(
    `UPDATE ${table.name} k SET retire_at = times.retire_at, remove_at = times.remove_at
     FROM ${TIMES.from('times', 2)} WHERE k.tenant_id = $1 AND k.kid = times.kid`,
  );

  return {
    /** Whether each key has one for deliveries beside it. */
    signsDeliveries,

    /**
     * Reads the tenant's keys, including keys that are overdue for removal; undefined when the tenant does not exist.
     */
    read: async (queryable: Queryable, tenantId: string): Promise<Schedule | undefined> => {
      const rows = await read(queryable, tenantId);
      const [first] = rows;
      if (first === undefined) return undefined;
      const keys = rows.flatMap(({ now: _now, tenantAlgorithm: _of, ...key }) =>
        key.id === null ? [] : [key],
      );
      return { now: first.now, algorithm: first.tenantAlgorithm, keys };
    },

    insert: async (transaction: Transaction, tenantId: string, key: NewIssuerKey): Promise<void> => {
      const { publishedAt: createdAt, ...row } = key;
      await transaction.model(table).insert({ ...row, tenantId, createdAt });
    },

    activate: changed<[tenantId: string, kid: string, activateAt: Date]>(
      `UPDATE ${table.name} SET activate_at = $3 WHERE tenant_id = $1 AND kid = $2`,
    ),

    setTimes: (unit: Queryable, tenantId: string, times: readonly KeyTimes[]): Promise<number> =>
      setTimes(unit, tenantId, ...TIMES.of(times)),

    /** Revokes a key and destroys its private half, and that of its key for deliveries. */
    revoke: changed<[tenantId: string, kid: string, revokedAt: Date, removeAt: Date]>(
      `UPDATE ${table.name} SET revoked_at = $3, remove_at = $4, retire_at = least(retire_at, $3), private_sealed = NULL${signsDeliveries ? ', delivery_sealed = NULL' : ''}
       WHERE tenant_id = $1 AND kid = $2`,
    ),

    destroyPrivate: counted<[tenantId: string, kids: readonly string[]]>(
      `UPDATE ${table.name} SET private_sealed = NULL WHERE tenant_id = $1 AND kid = ANY ($2)`,
    ),

    remove: counted<[tenantId: string, kids: readonly string[]]>(
      `DELETE FROM ${table.name} WHERE tenant_id = $1 AND kid = ANY ($2)`,
    ),
  };
}

/** The keys that sign access tokens. */
export const issuerKeyStore = createKeyScheduleStore(ISSUER_KEY, 't.signing_algorithm', {
  signsDeliveries: true,
});

/** The keys that sign security event tokens. A tenant without streams has none. */
export const eventKeyStore = createKeyScheduleStore(EVENT_KEY, "'RS256'", { signsDeliveries: false });

/** Locks the tenant's keys and its algorithm against other changes until the transaction ends. */
export const lock = changed<[tenantId: string]>('SELECT 1 FROM tenants WHERE id = $1 FOR NO KEY UPDATE');

export async function setDeliveryKey(
  transaction: Transaction,
  tenantId: string,
  kid: string,
  key: DeliveryKey,
): Promise<void> {
  await transaction.model(ISSUER_KEY).update({ tenantId, kid }, key);
}

/**
 * Tenants with a step that is due: no key follows the newest one (since that serves, or since the last was revoked), or
 * a key or its private half is still there. The private half may stay a minute longer.
 */
export const findOverdue = countBreaches(
  `least(coalesce(max(activate_at) FILTER (WHERE revoked_at IS NULL), max(revoked_at)), min(remove_at),
    min(retire_at) FILTER (WHERE private_sealed IS NOT NULL) + interval '1 minute')`,
  `
FROM (
  SELECT 'tokens' AS purpose, tenant_id, activate_at, retire_at, remove_at, revoked_at, private_sealed FROM issuer_keys
  UNION ALL SELECT 'events', tenant_id, activate_at, retire_at, remove_at, revoked_at, private_sealed FROM event_keys
) AS keys GROUP BY purpose, tenant_id`,
);

/** Lists all tenants by ascending id, because the keys of every tenant have a workflow. One round trip on an index. */
export const listExpectedWorkflows = listBy(
  'SELECT id AS tenant_id, id AS entity_id FROM tenants WHERE id > $1 ORDER BY id LIMIT $2',
);
