// The rooms that the delivery engine of the tests is made of.

import { isSuspended } from '../../src/identity/tenants/tenant.store.ts';
import { sealingKeys } from '../../src/platform/config-values.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { WorkflowCommandService } from '../../src/platform/temporal/workflow-command.service.ts';
import { DeliveryService } from '../../src/webhooks/deliveries/delivery.service.ts';
import { EndpointRecoveryService } from '../../src/webhooks/endpoints/endpoint-recovery.service.ts';
import type { RecoverySettings } from '../../src/webhooks/endpoints/recovery-settings.ts';
import { wireEndpoints } from '../../src/webhooks/endpoints/wire.ts';
import { wireRecords } from '../../src/webhooks/intake/wire.ts';
import { wireReplays } from '../../src/webhooks/replays/wire.ts';
import { wireSubscriptions } from '../../src/webhooks/subscriptions/wire.ts';
import { createTestPlatform } from '../setup/platform.ts';

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
  const platform = createTestPlatform(database, {
    notifier,
    config: { masterKeys: sealingKeys.parse(MASTER_KEY) },
  });
  const records = wireRecords(platform);
  const commands = new WorkflowCommandService();
  const endpoints = wireEndpoints(platform, { commands }, recovery);
  const shared = { database, notifier, records, commands, ...endpoints };
  const deliveries = new DeliveryService(shared);
  const tenants = { byId: async () => tenant, isSuspended, subscriptionLimit: 1_000 };
  const subscriptions = wireSubscriptions(platform, { ...shared, deliveries, tenants });
  const pace = { chunk: 5, waiting: 10 };
  return {
    records,
    platform,
    commands,
    ...endpoints,
    deliveries,
    ...subscriptions,
    ...wireReplays(platform, { ...shared, ...subscriptions }, pace),
    recoveries: new EndpointRecoveryService({ ...shared, ...subscriptions, tenants }),
  };
}
