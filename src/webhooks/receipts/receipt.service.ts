// Reads receipts for people, and does the steps of their workflow. The rows of deliveries say who has acknowledged, so
// a repeated, late or needless step does no harm.

import { serviceContext } from '../../audit/audit.ts';
import { filterCandidates } from '../../events/filter.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { ReceiptRow } from './receipt.model.ts';
import type { ReceiptName } from './receipt.store.ts';
import * as store from './receipt.store.ts';
import {
  decideReceiptStep,
  describeReceipt,
  type ReceiptStatus,
  type ReceiptStep,
  type ReceiptSummary,
  type Receiver,
  summarize,
} from './receipt.ts';

export type { ReceiptName } from './receipt.store.ts';

/** The state of a receipt for its workflow; `gone`: it is not kept any more. `text` is for operators. */
export type ReceiptStanding = {
  readonly step: ReceiptStep;
  readonly status: ReceiptStatus | 'gone';
  readonly receivers: number;
  readonly acknowledged: number;
  readonly text: string;
};

/** A receipt as it is shown. */
export type Receipt = Omit<ReceiptRow, 'tenantId' | 'receivers'> &
  ReceiptSummary & {
    readonly text: string;
    readonly tokensEndBy: Date;
    readonly receivers: readonly Receiver[];
  };

const COMPLETED = 'admin.agent.receipt.completed';

export type ReceiptNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  records: Pick<RecordService, 'write'>;
  /** Seconds. */
  accessTokenLifetime: number;
};

export class ReceiptService extends Service<ReceiptNeeds> {
  /** @throws ServiceError `not_found` for a receipt of another agent */
  get = async (
    { tenant, transaction }: RequestContext,
    { agentId, id }: { agentId: string; id: string },
  ): Promise<Receipt> => {
    const queryable = transaction ?? this.needs.database;
    const name = { tenantId: tenant.id, id };
    const row = await store.read(queryable, name.tenantId, name.id);
    if (row?.agentId !== agentId)
      throw new ServiceError('not_found', { detail: 'There is no such receipt.' });
    return this.#toReceipt(row, await store.receivers(queryable, name));
  };

  /** Lists the receipts of an agent, also of a deleted one, the newest first. */
  list = (
    { tenant, transaction }: RequestContext,
    agentId: string,
    request: PageRequest,
  ): Promise<Page<ReceiptRow>> => store.list(transaction ?? this.needs.database, request, tenant.id, agentId);

  /** Counts the webhooks and streams that an event of this type about the agent would go to now. */
  countReceivers = (
    { tenant, transaction }: RequestContext,
    agentId: string,
    cause: string,
  ): Promise<number> => {
    const news = { agentId, filters: filterCandidates(cause) };
    return store.countReceivers(transaction ?? this.needs.database, tenant.id, news);
  };

  /** Describes the receipt for the Temporal UI. @returns undefined for an unknown receipt */
  describe = async (name: ReceiptName): Promise<{ summary: string; agentId: string } | undefined> => {
    const row = await store.read(this.needs.database, name.tenantId, name.id);
    return row && { summary: `${row.cause} · ${row.receivers} receivers`, agentId: row.agentId };
  };

  /** Completes a receipt whose deliveries have all ended. Emits `admin.agent.receipt.completed`, once. */
  complete = (name: ReceiptName): Promise<ReceiptStanding> => {
    const { database, records } = this.needs;
    return database.transaction({}, async (unit) => {
      const row = await store.lock(unit, name.tenantId, name.id);
      if (row === undefined) return GONE;
      const receipt = this.#toReceipt(row, await store.receivers(unit, name));
      if (decideReceiptStep(row, receipt, row.now).kind === 'complete') {
        await store.complete(unit, row.id);
        const { acknowledged, status, lastAckMs, agentId, cause } = receipt;
        const facts = { status, receivers: receipt.receivers.length, acknowledged, last_ack_ms: lastAckMs };
        await records.write(unit, serviceContext({ id: row.tenantId }, newId()), {
          audit: [
            {
              action: 'agent.receipt.completed',
              outcome: status === 'acknowledged' ? 'success' : 'failure',
              target: { type: 'agent', id: agentId },
              data: { receipt_id: row.id, cause, ...facts },
            },
          ],
          events: [{ type: COMPLETED, data: { agent_id: agentId, receipt_id: row.id, cause, ...facts } }],
        });
      }
      return this.#look(unit, name);
    });
  };

  /** Returns how many of its receivers have acknowledged. */
  look = (name: ReceiptName): Promise<ReceiptStanding> => this.#look(this.needs.database, name);

  #toReceipt = (row: ReceiptRow, receivers: readonly Receiver[]): Receipt => {
    const summary = summarize(row, receivers);
    const { tenantId: _tenant, ...shown } = row;
    const tokensEndBy = new Date(row.createdAt.getTime() + this.needs.accessTokenLifetime * 1_000);
    const text = describeReceipt(summary, receivers, tokensEndBy);
    return { ...shown, ...summary, receivers, tokensEndBy, text };
  };

  #look = async (queryable: Queryable, name: ReceiptName): Promise<ReceiptStanding> => {
    const row = await store.read(queryable, name.tenantId, name.id);
    if (row === undefined) return GONE;
    const receipt = this.#toReceipt(row, await store.receivers(queryable, name));
    return {
      step: decideReceiptStep(row, receipt, row.now),
      status: receipt.status,
      receivers: receipt.receivers.length,
      acknowledged: receipt.acknowledged,
      text: receipt.text,
    };
  };
}

const GONE: ReceiptStanding = {
  step: { kind: 'end' },
  status: 'gone',
  receivers: 0,
  acknowledged: 0,
  text: 'There is no such receipt.',
};
