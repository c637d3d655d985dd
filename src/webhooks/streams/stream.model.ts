// Streams: what one has beside the subscription with its id, and the agents whose events it leaves out.
import {
  defineTable,
  given,
  nullable,
  primaryKey,
  type RowOf,
  text,
  texts,
  uuid,
} from '../../platform/database/table.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.model.ts';
import type { StreamMethod, StreamStatus } from './stream.ts';

export const STREAM = defineTable('streams', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  receiver: text(),
  method: text<StreamMethod>(),
  eventsRequested: nullable(texts()),
  status: given(text<StreamStatus>()),
  reason: nullable(text()),
});

/** A stream as its rows have it. `isOpen`: its endpoint is active; the service may have closed it. */
export type StreamRow = Omit<RowOf<typeof STREAM>, 'tenantId' | 'receiver'> &
  Pick<SubscriptionRow, 'url' | 'host' | 'headersSealed' | 'description' | 'disabledReason'> & {
    readonly audience: string;
    readonly isOpen: boolean;
  };

export const STREAM_EXCLUSION = defineTable('stream_exclusions', {
  streamId: primaryKey(uuid()),
  agentId: primaryKey(uuid()),
});
