// The archive of a tenant: all its rows without secrets, one JSON object a line. Memory holds one page of rows.

import type { KnownUsers } from '../../audit/named-users.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import type { OperatorActService } from '../operators/operator-act.service.ts';
import type { OperatorIntent } from '../operators/operator-act.ts';
import { listExported } from './erasure-rules.ts';
import { openRows } from './opened-users.service.ts';
import * as store from './tenant-export.store.ts';

/** Version of the form, which docs/erasure.md describes. */
const FORM = 1;

/** Takes lines with their line feeds; the next ones are read when it has. */
export type TakeLines = (lines: string) => Promise<void>;

export class TenantExportService extends Service<{
  /** Its statements may take minutes. */
  database: Pick<Database, 'transaction'>;
  tenants: Pick<TenantService, 'requireBySlug'>;
  acts: Pick<OperatorActService, 'record'>;
  users: KnownUsers;
}> {
  /**
   * Reads everything that a tenant's archive has. The act is on record before it begins. Each table is read as it is
   * at one moment; the tables of a tenant that has ended change no more.
   * @returns the number of rows of each table, which the last line has too
   * @throws ServiceError `not_found`
   */
  exportTenant = async (
    intent: OperatorIntent,
    slug: string,
    take: TakeLines,
  ): Promise<Readonly<Record<string, number>>> => {
    const { id } = await this.needs.tenants.requireBySlug(slug);
    const deed = { action: 'tenant.exported', target: { type: 'tenant', id }, data: { slug } } as const;
    await this.needs.database.transaction({}, (transaction) =>
      this.needs.acts.record(transaction, intent, deed, [{ tenantId: id }]),
    );
    await take(`${JSON.stringify({ countersign_export: FORM, tenant_id: id, slug })}\n`);
    const rows: Record<string, number> = {};
    for (const source of listExported()) {
      rows[source.table] = 0;
      await store.readRows(this.needs.database, source, id, async (page) => {
        rows[source.table] = (rows[source.table] ?? 0) + page.length;
        const opened = await openRows(this.needs.users, id, { table: source.table, rows: page });
        await take(opened.map((row) => `{"table":"${source.table}","row":${row}}\n`).join(''));
      });
    }
    await take(`${JSON.stringify({ end: true, rows })}\n`);
    return rows;
  };
}
