// SQL of what token requests of clients leave behind. Its rows belong to other rooms, whose parts it only puts together.
import type { AuditRecord, AuditService } from '../../audit/audit.service.ts';
import type { EventRecord, EventService } from '../../events/event.service.ts';
import { composeStatement } from '../../platform/database/statement-parts.ts';
import type { Queryable } from '../../platform/database/transaction.ts';

/** What one request leaves behind. */
export type ClientRecord = {
  readonly audit: readonly AuditRecord[];
  readonly events: readonly EventRecord[];
};

/** SQL of client records. */
export function createClientRecordStore({
  database,
  audit,
  events,
}: {
  database: Queryable;
  audit: Pick<AuditService, 'parts'>;
  events: Pick<EventService, 'parts'>;
}) {
  const [auditPart, eventPart] = [audit.parts.all, events.parts.all];
  const insert = composeStatement(
    [auditPart, eventPart],
    'SELECT coalesce(sum(deliveries), 0)::int AS deliveries FROM accepted',
  );
  return {
    /** Writes all records or none, in one statement; those that are there already are left as they are. @returns deliveries made */
    insert: async (records: readonly ClientRecord[]): Promise<number> => {
      const { rows } = await database.query<{ deliveries: number }>(insert, [
        ...auditPart.valuesOf(records.flatMap((record) => record.audit)),
        ...eventPart.valuesOf(records.flatMap((record) => record.events)),
      ]);
      return rows[0]?.deliveries ?? 0;
    },
  };
}
