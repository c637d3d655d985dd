// Opens a receipt for each event that ended access, in the transaction of the event. Other events cost it nothing.

import type { EventRecord } from '../../events/event.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import * as store from './receipt.store.ts';
import { FOLLOWED_TYPES } from './receipt.ts';

/** An event that was emitted, with the number of its deliveries. */
export type EmittedNews = Pick<EventRecord, 'id' | 'type' | 'body'> & { readonly deliveries: number };

export class ReceiptOpening extends Service<{ commands: Pick<WorkflowCommandService, 'add'> }> {
  /** Returns whether events of this type get a receipt. */
  isFollowed = (type: string): boolean => FOLLOWED_TYPES.has(type);

  /** Opens receipts for events of one tenant. One without receivers is complete, and gets no workflow. */
  open = async (unit: Queryable, tenantId: string, news: readonly EmittedNews[]): Promise<void> => {
    const opened = news.map(({ id, type, body, deliveries }) => ({
      id,
      agentId: agentOf(body),
      cause: type,
      receivers: deliveries,
    }));
    await store.open(unit, tenantId, opened);
    await this.needs.commands.add(
      unit as Parameters<typeof this.needs.commands.add>[0],
      opened
        .filter(({ receivers }) => receivers > 0)
        .map(({ id }) => ({ tenantId, workflow: 'accessReceipt', entityId: id })),
    );
  };
}

function agentOf(body: string): string {
  const { data } = JSON.parse(body) as { data: { agent_id: string } };
  return data.agent_id;
}
