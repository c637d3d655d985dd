// The table of subscriptions.
import {
  boolean,
  bytes,
  defineTable,
  given,
  integer,
  json,
  type NewRowOf,
  nullable,
  primaryKey,
  type RowOf,
  sealed,
  text,
  texts,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { SignatureName } from '../signing/signatures.ts';
import type { Envelope } from './envelope.ts';
import type { RetryPolicy } from './retry-schedule.ts';
import type { Sink } from './subscription.ts';

export const SUBSCRIPTION = defineTable('subscriptions', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  url: text(),
  host: text(),
  envelope: given(text<Envelope>()),
  eventTypes: texts(),
  filters: texts(),
  description: nullable(text()),
  sink: text<Sink>(),
  secretSealed: sealed(bytes<Buffer>()),
  nextSecretSealed: nullable(sealed(bytes<Buffer>())),
  secretOverlapEndsAt: nullable(time()),
  headersSealed: nullable(sealed(bytes<Buffer>())),
  signatures: given(texts<SignatureName>()),
  maxAge: given(integer()),
  rateLimit: nullable(integer()),
  retryPolicy: nullable(json<RetryPolicy>()),
  disableAfterDays: given(integer()),
  disabledReason: nullable(text()),
  createdAt: given(time()),
  updatedAt: given(time()),
  deletedAt: nullable(time()),
  streamAudience: nullable(text()),
});

export type SubscriptionRow = RowOf<typeof SUBSCRIPTION>;
export type NewSubscriptionRow = NewRowOf<typeof SUBSCRIPTION>;

export const SUBSCRIPTION_FILTER = defineTable('subscription_filters', {
  tenantId: primaryKey(uuid()),
  filter: primaryKey(text()),
  subscriptionId: primaryKey(uuid()),
  isStream: boolean(),
});
