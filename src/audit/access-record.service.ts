// Records in the audit log what changes nothing: refused requests, introspections, and reads of the log itself. There
// is at most one entry a minute for each caller and operation, with the number of requests that it stands for.

import type { Queryable } from '../platform/database/transaction.ts';
import type { Log } from '../platform/logging.ts';
import { Service } from '../platform/service.ts';
import { appendEntries, prepareEntries } from './audit.service.ts';
import type { AuditContext, AuditEntry } from './audit.ts';
import { FailureReporter } from './failure-report.service.ts';

/** The record of a request whose caller is known and may not make it. */
export const ACCESS_REFUSAL = { action: 'auth.access.refused', outcome: 'failure' } as const;

/** `operation`: name of the route in the OpenAPI document. */
export type Access = Omit<AuditEntry, 'keyId'> & { readonly operation: string };

type Noted = { readonly context: AuditContext; readonly access: Access };

/**
 * Creates the records of accesses. They are written in the background and delay no answer. Each process counts for
 * itself.
 */
export class AccessRecordService extends Service<{ database: Queryable; log: Log<'error'> }> {
  readonly #reporter = new FailureReporter<Noted>({
    tell: ({ context, access: { operation, data, ...entry } }, count) =>
      appendEntries(
        this.needs.database,
        prepareEntries(context, [{ ...entry, data: { operation, count, ...data } }]),
      ),
    onError: (error) =>
      this.needs.log.error(
        { event: 'access_records.write_failed', err: error },
        'a record of refused or reading requests could not be written',
      ),
  });

  /**
   * Notes an access. The first one of a caller is recorded immediately, later ones of the same kind together after a
   * minute, with the data of the last.
   */
  note = ({ requestId, tenant, address, principal }: AuditContext, access: Access): void => {
    const { action, operation, outcome, reason, actor } = access;
    const caller = actor?.id ?? principal?.agentId ?? principal?.subject;
    const context = { requestId, tenant: { id: tenant.id }, address, principal };
    this.#reporter.report([tenant.id, caller, action, operation, outcome, reason].join(' '), {
      context,
      access,
    });
  };

  /** Waits for the writes that are in progress. */
  settled = this.#reporter.settled;

  /** Writes all counted records. Called once, when the process stops. */
  close = this.#reporter.close;
}

/** Notes that somebody has read the audit log. @param id of the one row that was read */
export function noteRead(
  accesses: Pick<AccessRecordService, 'note'>,
  context: AuditContext,
  operation: string,
  id?: string,
): void {
  const target = id === undefined ? undefined : { type: 'audit_log', id };
  accesses.note(context, { action: 'audit.read', outcome: 'success', operation, target });
}
