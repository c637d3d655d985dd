// SQL of how long the rows of tenants are kept, and how far their removal has come.
import { keptFrom } from '../../platform/database/kept-days.ts';
import { done, many } from '../../platform/database/statements.ts';
import { selectList } from '../../platform/database/table.ts';
import { TENANT, type TenantRow } from './tenant.model.ts';
import type { RetentionSettings } from './tenant-retention.ts';

export type TenantRetention = RetentionSettings & Pick<TenantRow, 'id' | 'addressesGone'>;

const COLUMNS = selectList(TENANT, [
  'id',
  'deliveriesDays',
  'eventsDays',
  'auditAddressesDays',
  'addressesGone',
]);

const listBy = (column: string) =>
  many<TenantRetention, [all: boolean]>(
    `SELECT ${COLUMNS} FROM tenants WHERE $1 OR ${column} IS NOT NULL ORDER BY id`,
  );

/** Lists the tenants that have set a field, or all. */
export const list = {
  deliveriesDays: listBy('deliveries_days'),
  eventsDays: listBy('events_days'),
  auditAddressesDays: listBy('audit_addresses_days'),
} as const satisfies Record<keyof RetentionSettings, unknown>;

/** Notes that events older than so many whole UTC days are removed. @param tenantId undefined: of all tenants */
export const noteEventsGone = done<[tenantId: string | undefined, days: number]>(`
UPDATE tenants SET events_gone_before = at
FROM (SELECT ${keptFrom('$2')} AS at) AS kept
WHERE id = coalesce($1, id) AND (events_gone_before IS NULL OR events_gone_before < at)`);

/** Notes the last row of the audit log whose address is removed. */
export const noteAddressesGone = done<[tenantId: string, latest: string]>(
  'UPDATE tenants SET addresses_gone = $2 WHERE id = $1',
);
