// The wiring of recoveries. Like compose.ts it must hold no rule of its own.

import type { AuditService } from '../../audit/audit.service.ts';
import type { Database } from '../../platform/database/database.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { createReplayService } from '../../webhooks/deliveries/replay.service.ts';
import type { EndpointService } from '../../webhooks/endpoints/endpoint.service.ts';
import { createBulkRecoveryService } from '../../webhooks/replays/bulk-replay.service.ts';
import * as store from '../../webhooks/replays/bulk-replay.store.ts';
import { createBulkRecoveryStepService } from '../../webhooks/replays/bulk-replay-steps.service.ts';
import type { SubscriptionService } from '../../webhooks/subscriptions/subscription.service.ts';

/** Wires replays of many deliveries. @param pace how many one step replays, and how many may wait */
export function composeRecoveries({
  database,
  subscriptions,
  endpoints,
  audit,
  commands,
  notifier,
  pace,
}: {
  database: Database;
  subscriptions: Pick<SubscriptionService, 'get' | 'exists'>;
  endpoints: EndpointService;
  audit: AuditService;
  commands: WorkflowCommandService;
  notifier: { poke(): void };
  pace?: Parameters<typeof createBulkRecoveryStepService>[0]['pace'];
}) {
  const replays = createReplayService({ notifier });
  return {
    bulkRecoveries: createBulkRecoveryService({
      database,
      subscriptions,
      replays,
      endpoints,
      audit,
      commands,
    }),
    bulkRecoverySteps: createBulkRecoveryStepService({ store, database, replays, endpoints, audit, pace }),
  };
}
