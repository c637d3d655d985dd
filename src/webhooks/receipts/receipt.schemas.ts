// Schemas of receipts in answers.
import { z } from 'zod';
import { pageSchema } from '../../platform/http/answers.ts';
import { pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { entityWorkflowId, workflowUrl } from '../../platform/temporal/names.ts';
import type { WorkflowPlace } from '../deliveries/delivery.ts';
import type { Receipt } from './receipt.service.ts';
import { FOLLOWED, RECEIPT_STATUSES, RECEIVER_STATES } from './receipt.ts';

const timestamp = z.iso.datetime();

const receiverSchema = z.strictObject({
  subscription_id: z.uuid(),
  delivery_id: z.uuid(),
  kind: z.enum(['webhook', 'stream']),
  host: z.string(),
  state: z.enum(RECEIVER_STATES).meta({
    description:
      'acknowledged: it has answered 2xx, or acknowledged the token. held: its endpoint is closed for now. failed, canceled: it will not be told again by itself.',
  }),
  acknowledged_at: timestamp.nullable(),
  attempts: z.int(),
  last_error: z.string().nullable(),
});

const head = {
  id: z.uuid().meta({ description: 'The receipt, and the event that it is of.' }),
  agent_id: z.uuid(),
  cause: z.string().meta({ description: 'The type of the event.' }),
  created_at: timestamp,
  completed_at: timestamp
    .nullable()
    .meta({ description: 'When all deliveries had ended, as the workflow saw first.' }),
};

const receiptEntrySchema = z.strictObject(head).meta({ id: 'ReceiptEntry' });

export const receiptSchema = z
  .strictObject({
    ...head,
    status: z.enum(RECEIPT_STATUSES).meta({
      description:
        'waiting: a receiver may still acknowledge. acknowledged: all have. unacknowledged: all deliveries have ended, not all with an acknowledgement. no_receivers: no webhook or stream asked for the event.',
    }),
    text: z.string().meta({ description: 'The same in words.' }),
    acknowledged: z.int().meta({ description: 'How many receivers have acknowledged.' }),
    last_ack_ms: z
      .int()
      .nullable()
      .meta({ description: 'Milliseconds from the event to the latest acknowledgement.' }),
    receivers: z.array(receiverSchema),
    tokens_end_by: timestamp.meta({
      description:
        'When the last access token from before the event has ended. Until then a resource server that follows no feed may take one.',
    }),
    workflow_id: z.string(),
    workflow_url: z.string(),
  })
  .meta({ id: 'Receipt' });

export const receiverCountSchema = z
  .strictObject({ cause: z.enum(FOLLOWED), agent_id: z.uuid(), receivers: z.int() })
  .meta({ id: 'ReceiverCount' });
export const receiverCountQuery = z.object({
  cause: z.enum(FOLLOWED).meta({ description: 'The type of the event that would be sent.' }),
});

export const receiptListSchema = pageSchema(receiptEntrySchema, 'ReceiptList');
export const receiptListQuery = z.object(pageParameters);
export const receiptsParams = z.object({ agent_id: z.uuid() });
export const receiptParams = z.object({ agent_id: z.uuid(), receipt_id: z.uuid() });

export const presentEntry = (row: Pick<Receipt, 'id' | 'agentId' | 'cause' | 'createdAt' | 'completedAt'>) =>
  present(receiptEntrySchema, row);

/** @param place address of Temporal's web UI */
export function presentReceipt(receipt: Receipt, place: WorkflowPlace) {
  const workflowId = entityWorkflowId('accessReceipt', receipt.id);
  return present(receiptSchema, { ...receipt, workflowId, workflowUrl: workflowUrl(place, workflowId) });
}
