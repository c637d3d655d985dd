// Records assertions of known workload issuers that were refused, and limits their number from one address.

import type { AuditEntry } from '../../audit/audit.ts';
import { FailureReporter } from '../../audit/failure-report.service.ts';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { type FailureCounter, ServiceError } from '../../platform/errors/service-error.ts';
import type { Log } from '../../platform/logging.ts';
import { Service } from '../../platform/service.ts';
import type { Happening, RecordService } from '../../webhooks/intake/record.service.ts';
import { METHOD } from './workload-assertion.ts';

type Failure = { readonly context: RequestContext; readonly issuerId: string; readonly error: ServiceError };

export type WorkloadFailureNeeds = {
  database: Pick<Database, 'transaction'>;
  records: Pick<RecordService, 'write'>;
  /** Counts refused assertions by issuer and address. */
  failures: FailureCounter;
  log: Log<'error'>;
};

export class WorkloadFailureService extends Service<WorkloadFailureNeeds> {
  readonly #reporter = new FailureReporter<Failure>({
    tell: (failure, count, isFirst) => this.#writeFailure(failure, count, isFirst),
    onError: (error) => this.#onError(error),
  });
  readonly #underWay = new Set<Promise<void>>();

  /**
   * Counts and records a refusal, in the background. Beyond the limit nothing is written.
   * @returns the error for the answer: the refusal, or `rate_limited` after too many
   */
  report = async (context: RequestContext, issuerId: string, error: ServiceError): Promise<ServiceError> => {
    const { tenant, address } = context;
    const { blocked } = await this.needs.failures.failed(`${tenant.id}:${issuerId}:${addressGroup(address)}`);
    if (blocked !== undefined)
      return new ServiceError('rate_limited', {
        detail: 'Too many assertions of this issuer were refused from this address.',
        ...blocked,
      });
    const failure = { context, issuerId, error };
    if (!this.#reporter.report(`${issuerId}:${error.code}`, failure)) {
      const writing = this.#write(context, { audit: [this.#entryOf(failure)] }).catch(this.#onError);
      this.#underWay.add(writing);
      void writing.finally(() => this.#underWay.delete(writing));
    }
    return error;
  };

  /** Waits for the writes that are in progress. */
  settled = async (): Promise<void> => {
    await Promise.all([this.#reporter.settled(), ...this.#underWay]);
  };

  /** Writes all counted failures. Called once, when the process stops. */
  close = async (): Promise<void> => {
    await Promise.all([this.#reporter.close(), ...this.#underWay]);
  };

  #onError = (error: unknown) =>
    this.needs.log.error(
      { event: 'workload_records.write_failed', err: error },
      'a record of a refused assertion could not be written',
    );

  #write = async ({ tenant, ...context }: RequestContext, happening: Happening): Promise<void> => {
    await this.needs.database.transaction({ tenant }, (unit) =>
      this.needs.records.write(unit, { ...context, tenant }, happening),
    );
  };

  #entryOf = ({ issuerId, error }: Failure): AuditEntry => ({
    action: 'auth.login.failure',
    outcome: 'failure',
    reason: error.code,
    target: { type: 'workload_issuer', id: issuerId },
    data: { method: METHOD, detail: error.detail ?? '' },
  });

  #writeFailure = async (failure: Failure, count: number, isFirst: boolean): Promise<void> => {
    const { context, issuerId, error } = failure;
    const { address } = context;
    const data = { method: METHOD, workload_issuer_id: issuerId, address, reason: error.code, count };
    await this.#write(context, {
      audit: isFirst ? [this.#entryOf(failure)] : [],
      events: [{ type: 'auth.login.failure', data }],
    });
  };
}
