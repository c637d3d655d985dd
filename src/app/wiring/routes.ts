// The routes of the interface, in the order of the OpenAPI document.
import { createAuditRoutes } from '../../audit/audit.routes.ts';
import { createChallengeRoutes } from '../../authentication/challenges/challenge.routes.ts';
import { createConsoleRoutes } from '../../authentication/console/session.routes.ts';
import { createDelegationRoutes } from '../../authentication/delegations/delegation.routes.ts';
import { createDeliveryKeyRoutes, createIssuerRoutes } from '../../authentication/issuer/issuer.routes.ts';
import { createIssuerKeyRoutes } from '../../authentication/issuer/issuer-key.routes.ts';
import { createIntrospectionRoutes } from '../../authentication/tokens/introspection.routes.ts';
import { createTokenRoutes } from '../../authentication/tokens/token.routes.ts';
import { createUserinfoRoutes } from '../../authentication/tokens/userinfo.routes.ts';
import { createTrustedIssuerRoutes } from '../../authentication/trusted-issuers/trusted-issuer.routes.ts';
import { createUserRoutes } from '../../authentication/users/user.routes.ts';
import { createWorkloadIssuerRoutes } from '../../authentication/workload-issuers/workload-issuer.routes.ts';
import { createAgentRoutes } from '../../identity/agents/agent.routes.ts';
import { createAnchorRoutes } from '../../identity/anchors/anchor.routes.ts';
import { createApplicationRoutes } from '../../identity/applications/application.routes.ts';
import { createEnrollmentRoutes } from '../../identity/enrollments/enrollment.routes.ts';
import { createKeyRoutes } from '../../identity/keys/key.routes.ts';
import { createKeyDirectoryRoutes } from '../../identity/keys/key-directory.routes.ts';
import { createKeySetRoutes } from '../../identity/keys/key-set.routes.ts';
import { createRotationRoutes } from '../../identity/keys/rotation.routes.ts';
import { createSelfRoutes } from '../../identity/keys/self.routes.ts';
import { createTenantRoutes } from '../../identity/tenants/tenant.routes.ts';
import { createAccountRoutes } from '../../webhooks/accounts/account.routes.ts';
import { createDeliveryRoutes } from '../../webhooks/deliveries/delivery.routes.ts';
import { createEventRoutes } from '../../webhooks/intake/event.routes.ts';
import { createEventTypeRoutes } from '../../webhooks/intake/event-type.routes.ts';
import { createReceiptRoutes } from '../../webhooks/receipts/receipt.routes.ts';
import { createBulkReplayRoutes } from '../../webhooks/replays/bulk-replay.routes.ts';
import { createStandingRoutes } from '../../webhooks/standing/standing.routes.ts';
import { createStreamRoutes } from '../../webhooks/streams/stream.routes.ts';
import { createSigningSecretRoutes } from '../../webhooks/subscriptions/signing-secret.routes.ts';
import { createSubscriptionRoutes } from '../../webhooks/subscriptions/subscription.routes.ts';

/** Each is given all services of the process by their names. */
export const ROUTES = [
  createIssuerRoutes,
  createDeliveryKeyRoutes,
  createTokenRoutes,
  createIntrospectionRoutes,
  createUserinfoRoutes,
  createChallengeRoutes,
  createEnrollmentRoutes,
  createSelfRoutes,
  createTenantRoutes,
  createIssuerKeyRoutes,
  createApplicationRoutes,
  createAgentRoutes,
  createKeyRoutes,
  createKeySetRoutes,
  createKeyDirectoryRoutes,
  createRotationRoutes,
  createAnchorRoutes,
  createAuditRoutes,
  createDelegationRoutes,
  createUserRoutes,
  createTrustedIssuerRoutes,
  createWorkloadIssuerRoutes,
  createEventRoutes,
  createEventTypeRoutes,
  createSubscriptionRoutes,
  createSigningSecretRoutes,
  createBulkReplayRoutes,
  createDeliveryRoutes,
  createAccountRoutes,
  createStandingRoutes,
  createStreamRoutes,
  createReceiptRoutes,
  createConsoleRoutes,
];
