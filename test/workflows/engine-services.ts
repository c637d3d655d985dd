// The services that the delivery engine of the tests is made of.

import { composeRecoveries } from '../../src/app/wiring/compose-recoveries.ts';
import { createAuditService } from '../../src/audit/audit.service.ts';
import { createAuditStore } from '../../src/audit/audit.store.ts';
import { createEventService } from '../../src/events/event.service.ts';
import { createEventStore } from '../../src/events/event.store.ts';
import { masterKeys } from '../../src/platform/config-values.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { parseNetworks } from '../../src/platform/egress/address-rules.ts';
import { createWorkflowCommandService } from '../../src/platform/temporal/workflow-command.service.ts';
import { createWorkflowCommandStore } from '../../src/platform/temporal/workflow-command.store.ts';
import { createDeliveryService } from '../../src/webhooks/deliveries/delivery.service.ts';
import { createDeliveryRecordStore } from '../../src/webhooks/deliveries/delivery-record.store.ts';
import { createEndpointService } from '../../src/webhooks/endpoints/endpoint.service.ts';
import { createEndpointStore } from '../../src/webhooks/endpoints/endpoint.store.ts';
import { createEndpointHealthStore } from '../../src/webhooks/endpoints/endpoint-health.store.ts';
import { createRecoveryService } from '../../src/webhooks/endpoints/endpoint-recovery.service.ts';
import { createRecoveryStore } from '../../src/webhooks/endpoints/endpoint-recovery.store.ts';
import { createHostHoldService } from '../../src/webhooks/endpoints/host-hold.service.ts';
import { createHostHoldStore } from '../../src/webhooks/endpoints/host-hold.store.ts';
import type { RecoverySettings } from '../../src/webhooks/endpoints/recovery-settings.ts';
import { createSigningSecretService } from '../../src/webhooks/subscriptions/signing-secret.service.ts';
import { createSigningSecretStore } from '../../src/webhooks/subscriptions/signing-secret.store.ts';
import { createSubscriptionService } from '../../src/webhooks/subscriptions/subscription.service.ts';
import { createSubscriptionStore } from '../../src/webhooks/subscriptions/subscription.store.ts';
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
  const audit = createAuditService({ store: createAuditStore() });
  const events = createEventService({ store: createEventStore(), notifier });
  const commands = createWorkflowCommandService({ store: createWorkflowCommandStore() });
  const endpoints = createEndpointService({
    store: createEndpointStore(),
    health: createEndpointHealthStore(recovery),
    notifier,
    commands,
  });
  const hostHolds = createHostHoldService({ store: createHostHoldStore(), notifier, commands });
  const sealing = createSubscriptionSealing({ masterKeys: masterKeys.parse(MASTER_KEY) });
  const deliveries = createDeliveryService({
    store: createDeliveryRecordStore(),
    database,
    endpoints,
    audit,
    notifier,
  });
  const subscriptions = createSubscriptionService({
    store: createSubscriptionStore(database),
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
    store: createSigningSecretStore(),
    database,
    sealing,
    audit,
    events,
    commands,
  });
  const recoveries = createRecoveryService({
    store: createRecoveryStore(),
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
