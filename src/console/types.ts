// The answers of the management API that the console reads, by the service's own schemas: no page reads what they lack.
import type { z } from 'zod';
import type { auditHoursSchema, auditLogSchema, inclusionProofSchema } from '../audit/audit.schemas.ts';
import type { consoleTokenSchema } from '../authentication/console/session.schemas.ts';
import type { delegationSchema } from '../authentication/delegations/delegation.schemas.ts';
import type { issuerKeyScheduleSchema } from '../authentication/issuer/issuer-key.schemas.ts';
import type { trustedIssuerSchema } from '../authentication/trusted-issuers/trusted-issuer.schemas.ts';
import type { workloadIssuerSchema } from '../authentication/workload-issuers/workload-issuer.schemas.ts';
import type { agentSchema, createAgentBody } from '../identity/agents/agent.schemas.ts';
import type { anchorSchema } from '../identity/anchors/anchor.schemas.ts';
import type {
  applicationSchema,
  createApplicationBody,
  createdApplicationSchema,
  createdSecretSchema,
} from '../identity/applications/application.schemas.ts';
import type {
  createdEnrollmentSchema,
  enrollmentListSchema,
} from '../identity/enrollments/enrollment.schemas.ts';
import type { keySchema } from '../identity/keys/key.schemas.ts';
import type { rotationSchema } from '../identity/keys/rotation.schemas.ts';
import type { tenantSchema } from '../identity/tenants/tenant.schemas.ts';
import type { problemSchema } from '../platform/http/openapi-components.ts';
import type { accountSchema, hourListSchema } from '../webhooks/accounts/account.routes.ts';
import type { deliveryDetailsSchema, deliverySchema } from '../webhooks/deliveries/delivery.schemas.ts';
import type { eventTypeSchema } from '../webhooks/intake/event-type.schemas.ts';
import type { feedPage } from '../webhooks/intake/feed.schemas.ts';
import type {
  receiptListSchema,
  receiptSchema,
  receiverCountSchema,
} from '../webhooks/receipts/receipt.schemas.ts';
import type { bulkReplayPreviewSchema, bulkReplaySchema } from '../webhooks/replays/bulk-replay.schemas.ts';
import type { standingSchema } from '../webhooks/standing/standing.routes.ts';
import type { streamSchema, streamStatusSchema } from '../webhooks/streams/stream.schemas.ts';
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
export type DeliveryHours = z.infer<typeof hourListSchema>;
export type AuditHours = z.infer<typeof auditHoursSchema>;
export type Standing = z.infer<typeof standingSchema>;
export type Subscription = z.infer<typeof subscriptionSchema>;
export type SubscriptionDetails = z.infer<typeof subscriptionDetailsSchema>;
export type Replay = z.infer<typeof bulkReplaySchema>;
export type ReplayPreview = z.infer<typeof bulkReplayPreviewSchema>;
export type CreatedSubscription = z.infer<typeof createdSubscriptionSchema>;
export type RotatedSecret = z.infer<typeof rotatedSecretSchema>;
export type TestDelivery = z.infer<typeof testDeliverySchema>;
export type Agent = z.infer<typeof agentSchema>;
export type AgentKey = z.infer<typeof keySchema>;
export type Enrollment = z.infer<typeof enrollmentListSchema>['data'][number];
export type CreatedEnrollment = z.infer<typeof createdEnrollmentSchema>;
export type KeyRotation = z.infer<typeof rotationSchema>;
export type Anchor = z.infer<typeof anchorSchema>;
export type Application = z.infer<typeof applicationSchema>;
export type CreatedApplication = z.infer<typeof createdApplicationSchema>;
export type CreatedSecret = z.infer<typeof createdSecretSchema>;
export type TrustedIssuer = z.infer<typeof trustedIssuerSchema>;
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
export type Stream = z.infer<typeof streamSchema>;
export type StreamStatus = z.infer<typeof streamStatusSchema>;
export type Tenant = z.infer<typeof tenantSchema>;
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

type AgentScope = NonNullable<z.infer<typeof createAgentBody>['scopes']>[number];
type ApplicationScope = NonNullable<z.infer<typeof createApplicationBody>['scopes']>[number];

/** In the order in which they are offered; the type refuses a scope that is missing here. */
const FOR_AGENTS: Readonly<Record<AgentScope, true>> = {
  openid: true,
  profile: true,
  email: true,
  offline_access: true,
  'wallet:sign': true,
  'vault:read': true,
};
const FOR_APPLICATIONS: Readonly<Record<Exclude<ApplicationScope, AgentScope>, true>> = {
  'agents:read': true,
  'agents:write': true,
  'agents:capabilities': true,
  'agents:impersonate': true,
  'applications:read': true,
  'applications:write': true,
  'webhooks:read': true,
  'webhooks:write': true,
  'delegations:read': true,
  'delegations:write': true,
  'events:read': true,
  'events:write': true,
  'audit:read': true,
  'tenant:read': true,
  'tenant:write': true,
  'ssf.read': true,
  'ssf.manage': true,
};
export const AGENT_SCOPES: readonly string[] = Object.keys(FOR_AGENTS);
export const APPLICATION_SCOPES: readonly string[] = [...Object.keys(FOR_APPLICATIONS), ...AGENT_SCOPES];
