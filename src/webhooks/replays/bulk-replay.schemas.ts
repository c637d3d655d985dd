// The schemas of bulk replays in requests and answers.
import { z } from 'zod';
import { pageSchema } from '../../platform/http/answers.ts';
import { idFields, moment, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { entityWorkflowId, workflowUrl } from '../../platform/temporal/names.ts';
import type { WorkflowPlace } from '../deliveries/delivery.ts';
import {
  BULK_REPLAY_ENDS,
  BULK_REPLAY_STATUSES,
  type BulkReplay,
  REPLAY_OUTCOMES,
  REPLAYABLE,
  remainingOf,
} from './bulk-replay.ts';

const timestamp = z.iso.datetime();

/** Source: Specification, "Webhook management". */
export const bulkReplayBody = z
  .strictObject({
    since: moment.meta({ description: 'Deliveries created at this time or later.' }),
    until: moment.optional().meta({ description: 'And before this time; the present unless said.' }),
    status: z.enum(REPLAYABLE).default('failed').meta({ description: 'Deliveries that have ended so.' }),
    dry_run: z.boolean().default(false).meta({ description: 'Only count them.' }),
  })
  .meta({ id: 'WebhookReplayRequest' });

export const bulkReplayPreviewSchema = z
  .strictObject({ dry_run: z.literal(true), matched: z.int().min(0) })
  .meta({ id: 'WebhookReplayPreview' });

export const bulkReplaySchema = z
  .strictObject({
    ...idFields('replay_id'),
    subscription_id: z.uuid(),
    status: z.enum(BULK_REPLAY_STATUSES),
    end_reason: z.enum(BULK_REPLAY_ENDS).nullable().meta({ description: 'Why it was canceled.' }),
    delivery_status: z.enum(REPLAYABLE),
    since: timestamp,
    until: timestamp,
    matched: z.int().min(0).meta({ description: 'Deliveries in the range when it began.' }),
    replayed: z.int().min(0).meta({
      description: 'Fewer than matched where somebody had replayed the others meanwhile.',
    }),
    remaining: z.int().min(0).meta({ description: 'Still to be replayed, or left when it was canceled.' }),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
    outcomes: z.record(z.enum(REPLAY_OUTCOMES), z.int().min(0)).optional().meta({
      description:
        'Of one that is read: what has become of those replayed, as they are now, together `replayed`. waiting: they have not ended. failed: for good, once more. unknown: removed since, or replayed by a version that did not keep which they are.',
    }),
    workflow_id: z.string(),
    workflow_url: z.string().meta({ description: 'Its history, for operators.' }),
  })
  .meta({ id: 'WebhookReplay' });

export const bulkReplayListSchema = pageSchema(bulkReplaySchema, 'WebhookReplayList');

export const bulkReplayParams = z.object({ id: z.uuid(), replay_id: z.uuid() });
export const bulkReplayListQuery = z.object({ ...pageParameters });

/** @returns a bulk replay as answers show it @param place address and namespace of Temporal's UI */
export function presentBulkReplay(replay: BulkReplay, place: WorkflowPlace) {
  const workflowId = entityWorkflowId('bulkReplay', replay.id);
  return present(bulkReplaySchema, replay, {
    replay_id: replay.id,
    remaining: remainingOf(replay),
    workflow_id: workflowId,
    workflow_url: workflowUrl(place, workflowId),
  });
}
