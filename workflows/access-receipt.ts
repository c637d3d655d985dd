// accessReceipt follows the news that an agent's access has ended, until every receiver has acknowledged it or its
// delivery has ended. It only reads: deliveries go on without it.
import { proxyActivities } from '@temporalio/workflow';
import type { AccessReceiptActivities } from '../activities/access-receipt.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import type { ReceiptStanding } from '../src/webhooks/receipts/receipt.service.ts';
import { ENTITY_ACTIVITIES, entityWorkflow } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the deliveries without a signal. */
export type AccessReceiptState = Pick<ReceiptStanding, 'status' | 'receivers' | 'acknowledged'> & {
  readonly doing: 'reading' | 'waiting' | 'completing' | 'ended';
  readonly until: string | null;
};

export type AccessReceiptResult = Pick<ReceiptStanding, 'status' | 'receivers' | 'acknowledged'>;

const activities = proxyActivities<AccessReceiptActivities>(ENTITY_ACTIVITIES);

/** @param input.id id of the receipt, which is that of its event */
export function accessReceipt(input: EntityInput): Promise<AccessReceiptResult> {
  const name = { tenantId: input.tenantId, id: input.id };
  return entityWorkflow<typeof name, ReceiptStanding, AccessReceiptState, AccessReceiptResult>(input, {
    name,
    read: { activity: activities.readReceipt, summary: 'who has acknowledged' },
    steps: {
      complete: {
        doing: 'completing',
        activity: activities.completeReceipt,
        summary: 'all deliveries have ended',
      },
    },
    wait: ({ delayMs }, { receivers, acknowledged }) => ({
      doing: 'waiting',
      delayMs,
      summary: `${acknowledged} of ${receivers} acknowledged · next count ${wordTime(Date.now() + delayMs)}`,
    }),
    state: { status: 'waiting', receivers: 0, acknowledged: 0 },
    help: wordHelp({}, 'access-receipt'),
    details: ({ text }) => text,
    attributes: ({ status }) => ({ entityState: status }),
    result: ({ status, receivers, acknowledged }) => ({ status, receivers, acknowledged }),
  });
}
