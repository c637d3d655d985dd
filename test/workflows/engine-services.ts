// The services that the delivery engine of the tests is made of.

import { composeRecoveries } from '../../src/app/wiring/compose-recoveries.ts';
import { createAuditService } from '../../src/audit/audit.service.ts';
import { createEventService } from '../../src/events/event.service.ts';
import { masterKeys } from '../../src/platform/config-values.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { parseNetworks } from '../../src/platform/egress/address-rules.ts';
import { createWorkflowCommandService } from '../../src/platform/temporal/workflow-command.service.ts';
import { createDeliveryService } from '../../src/webhooks/deliveries/delivery.service.ts';
import { createEndpointService } from '../../src/webhooks/endpoints/endpoint.service.ts';
import { createEndpointHealthStore } from '../../src/webhooks/endpoints/endpoint-health.store.ts';
import { createRecoveryService } from '../../src/webhooks/endpoints/endpoint-recovery.service.ts';
import { createHostHoldService } from '../../src/webhooks/endpoints/host-hold.service.ts';
import type { RecoverySettings } from '../../src/webhooks/endpoints/recovery-settings.ts';
import { createSigningSecretService } from '../../src/webhooks/subscriptions/signing-secret.service.ts';
import { createSubscriptionService } from '../../src/webhooks/subscriptions/subscription.service.ts';
import { createSubscriptionSealing } from '../../src/webhooks/subscriptions/subscription-sealing.service.ts';

/** What everything of the engine is sealed with, as a command of its database needs it. */
export const MASTER_KEY = Buffer.alloc(32, 1).toString('base64');

/** The services of the engine, wired for real; only the one tenant is a fake. */
export function wireServices({
  database,
  notifier,
  recovery,
  tenant,
}: {
  database: Database;
  notifier: { poke(): void };
  recovery: RecoverySettings;
  tenant: RequestContext['tenant'];
}) {
  const audit = createAuditService();
  const events = createEventService({ notifier });
  const commands = createWorkflowCommandService();
  const endpoints = createEndpointService({
    health: createEndpointHealthStore(recovery),
    notifier,
    commands,
  });
  const hostHolds = createHostHoldService({ notifier, commands });
  const sealing = createSubscriptionSealing({ masterKeys: masterKeys.parse(MASTER_KEY) });
  const deliveries = createDeliveryService({
    database,
    endpoints,
    audit,
    notifier,
  });
  const subscriptions = createSubscriptionService({
    database,
    endpoints,
    hostHolds,
    sealing,
    deliveries,
    audit,
    events,
    admittedNetworks: parseNetworks(['127.0.0.0/8']),
  });
  const signingSecrets = createSigningSecretService({
    database,
    sealing,
    audit,
    events,
    commands,
  });
  const recoveries = createRecoveryService({
    database,
    subscriptions,
    tenants: { byId: async () => tenant },
    audit,
    events,
    commands,
    notifier,
  });
  const bulk = composeRecoveries({
    database,
    subscriptions,
    endpoints,
    audit,
    commands,
    notifier,
    pace: { chunk: 5, waiting: 10 },
  });
  return {
    audit,
    events,
    endpoints,
    hostHolds,
    sealing,
    deliveries,
    subscriptions,
    signingSecrets,
    recoveries,
    ...bulk,
  };
}
