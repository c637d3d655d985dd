// SQL of how long the rows of tenants are kept, and how far their removal has come.
import { keptFrom } from '../../platform/database/kept-days.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { RetentionSettings } from './tenant-retention.ts';

const COLUMNS = {
  deliveriesDays: 'deliveries_days',
  eventsDays: 'events_days',
  auditAddressesDays: 'audit_addresses_days',
} as const satisfies Record<keyof RetentionSettings, string>;

const listBy = (field: keyof RetentionSettings) => `
SELECT id, deliveries_days AS "deliveriesDays", events_days AS "eventsDays", audit_addresses_days AS "auditAddressesDays",
  addresses_gone AS "addressesGone"
FROM tenants WHERE $1 OR ${COLUMNS[field]} IS NOT NULL ORDER BY id`;

const NOTE_EVENTS = `
UPDATE tenants SET events_gone_before = at
FROM (SELECT ${keptFrom('$2')} AS at) AS kept
WHERE id = coalesce($1, id) AND (events_gone_before IS NULL OR events_gone_before < at)`;

export type TenantRetention = RetentionSettings & {
  readonly id: string;
  readonly addressesGone: string | null;
};

/** Lists the tenants that have set `field`. @param all lists every tenant */
export async function list(
  queryable: Queryable,
  field: keyof RetentionSettings,
  all: boolean,
): Promise<TenantRetention[]> {
  return (await queryable.query<TenantRetention>(listBy(field), [all])).rows;
}

/** Notes that events older than so many whole UTC days are removed. @param options.tenantId null: of all tenants */
export async function noteEventsGone(
  unit: Queryable,
  { tenantId, days }: { tenantId: string | null; days: number },
): Promise<void> {
  await unit.query(NOTE_EVENTS, [tenantId, days]);
}

/** Notes the last row of the audit log whose address is removed. */
export async function noteAddressesGone(unit: Queryable, tenantId: string, latest: string): Promise<void> {
  await unit.query('UPDATE tenants SET addresses_gone = $2 WHERE id = $1', [tenantId, latest]);
}
