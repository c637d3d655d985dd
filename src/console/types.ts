// The answers of the management API that the console reads, by the service's own schemas: no page reads what they lack.
import type { z } from 'zod';
import type { auditLogSchema, inclusionProofSchema } from '../audit/audit.schemas.ts';
import type { consoleTokenSchema } from '../authentication/console/session.schemas.ts';
import type { delegationSchema } from '../authentication/delegations/delegation.schemas.ts';
import type { issuerKeyScheduleSchema } from '../authentication/issuer/issuer-key.schemas.ts';
import type { workloadIssuerSchema } from '../authentication/workload-issuers/workload-issuer.schemas.ts';
import type { agentSchema } from '../identity/agents/agent.schemas.ts';
import type { anchorSchema } from '../identity/anchors/anchor.schemas.ts';
import type { applicationSchema } from '../identity/applications/application.schemas.ts';
import type { keySchema } from '../identity/keys/key.schemas.ts';
import type { problemSchema } from '../platform/http/openapi-components.ts';
import type { accountSchema } from '../webhooks/accounts/account.routes.ts';
import type { deliveryDetailsSchema, deliverySchema } from '../webhooks/deliveries/delivery.schemas.ts';
import type { eventTypeSchema } from '../webhooks/intake/event-type.schemas.ts';
import type { feedPage } from '../webhooks/intake/feed.schemas.ts';
import type {
  receiptListSchema,
  receiptSchema,
  receiverCountSchema,
} from '../webhooks/receipts/receipt.schemas.ts';
import type { bulkReplayPreviewSchema, bulkReplaySchema } from '../webhooks/replays/bulk-replay.schemas.ts';
import type { rotatedSecretSchema } from '../webhooks/subscriptions/signing-secret.routes.ts';
import type {
  createdSubscriptionSchema,
  subscriptionDetailsSchema,
  subscriptionSchema,
  testDeliverySchema,
} from '../webhooks/subscriptions/subscription.schemas.ts';

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

export type Session = z.infer<typeof consoleTokenSchema>;
/** What is read of a problem; `error` is also a word of the page's own, for an answer that is not of the service. */
export type Problem = Pick<z.infer<typeof problemSchema>, 'status' | 'detail' | 'request_id' | 'errors'> & {
  readonly error: string;
};
export type Delivery = z.infer<typeof deliverySchema>;
export type DeliveryDetails = z.infer<typeof deliveryDetailsSchema>;
export type Attempt = DeliveryDetails['attempts'][number];
export type Phases = Attempt['phases'];
export type DeliveryAccount = z.infer<typeof accountSchema>;
export type Subscription = z.infer<typeof subscriptionSchema>;
export type SubscriptionDetails = z.infer<typeof subscriptionDetailsSchema>;
export type Replay = z.infer<typeof bulkReplaySchema>;
export type ReplayPreview = z.infer<typeof bulkReplayPreviewSchema>;
export type CreatedSubscription = z.infer<typeof createdSubscriptionSchema>;
export type RotatedSecret = z.infer<typeof rotatedSecretSchema>;
export type TestDelivery = z.infer<typeof testDeliverySchema>;
export type Agent = z.infer<typeof agentSchema>;
export type AgentKey = z.infer<typeof keySchema>;
export type Anchor = z.infer<typeof anchorSchema>;
export type Application = z.infer<typeof applicationSchema>;
export type WorkloadIssuer = z.infer<typeof workloadIssuerSchema>;
export type Delegation = z.infer<typeof delegationSchema>;
export type AuditEntry = z.infer<typeof auditLogSchema>;
export type InclusionProof = z.infer<typeof inclusionProofSchema>;
export type Receipt = z.infer<typeof receiptSchema>;
export type ReceiptEntry = z.infer<typeof receiptListSchema>['data'][number];
export type ReceiverCount = z.infer<typeof receiverCountSchema>;
export type EventFeed = z.infer<typeof feedPage>;
export type FeedEvent = EventFeed['data'][number];
export type EventType = z.infer<typeof eventTypeSchema>;
export type IssuerKeySchedule = z.infer<typeof issuerKeyScheduleSchema>;

/** In the order of a delivery's life; the type refuses a status that is no longer one, and one that is missing here. */
const STATUSES: Readonly<Record<Delivery['status'], true>> = {
  pending: true,
  retrying: true,
  held: true,
  delivered: true,
  failed: true,
  canceled: true,
};
export const DELIVERY_STATUSES: readonly string[] = Object.keys(STATUSES);
