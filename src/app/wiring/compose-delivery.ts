// The second half of the wiring: what only a worker process needs. Like compose.ts it must hold no rule of its own.

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { createAuditSealer } from '../../audit/audit-sealing.service.ts';
import type { Config } from '../../platform/config.ts';
import { createOutboxListener } from '../../platform/database/listener.client.ts';
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import { reasonOf } from '../../platform/logging.ts';
import { TASK_QUEUES } from '../../platform/temporal/names.ts';
import { createAttemptMetrics } from '../../webhooks/deliveries/attempt.metrics.ts';
import { createAttemptService } from '../../webhooks/deliveries/attempt.service.ts';
import * as store from '../../webhooks/deliveries/attempt.store.ts';
import { createAttemptMonitor } from '../../webhooks/deliveries/attempt-monitor.service.ts';
import { createAttemptRecordService } from '../../webhooks/deliveries/attempt-record.service.ts';
import { createDeliverySender } from '../../webhooks/deliveries/delivery.client.ts';
import { createEndpointOccupancy } from '../../webhooks/endpoints/endpoint-occupancy.ts';
import { createDeliveryStarter } from '../../webhooks/relay/delivery-workflow.client.ts';
import { createFirstAttemptService } from '../../webhooks/relay/first-attempt.service.ts';
import { createRelayService } from '../../webhooks/relay/relay.service.ts';
import * as relays from '../../webhooks/relay/relay.store.ts';
import { createSweepService } from '../../webhooks/relay/sweep.service.ts';
import type { Core } from './compose.ts';

/** Wires delivery: attempts, the relay that hands work to Temporal, and the sweep behind it. @param client starts workflows */
export function composeDelivery(
  config: Config,
  core: Core,
  { client, logger }: { client: Client; logger: Logger },
) {
  const { database, audit, events, subscriptions, sealing, endpoints, notifier, url } = core;
  const agent = createGuardedAgent({
    allowedNetworks: config.webhookAllowedNetworks,
    internalNames: config.webhookInternalNames,
    caFile: config.webhookCaFile,
    insecureReceivers: config.insecureReceivers,
  });
  const metrics = createAttemptMetrics(core);
  const monitor = createAttemptMonitor();
  const occupancy = createEndpointOccupancy();

  const records = createAttemptRecordService({
    database,
    store,
    audit,
    events,
    endpoints,
    subscriptions,
    metrics,
  });
  const attempts = createAttemptService({
    database,
    store,
    sender: createDeliverySender({ agent, tracing: core.tracing }),
    sealing,
    records,
    monitor,
    occupancy,
    notifier,
    metrics,
    onUnrecorded: (error) =>
      logger.warn({ err: error }, 'an attempt was made; its record waits for the database'),
  });
  const onFailure = (error: unknown) =>
    logger.warn({ reason: reasonOf(error) }, 'the relay waits and tries again');
  const starter = createDeliveryStarter({
    client,
    taskQueues: TASK_QUEUES,
    eager: config.workerBuildId === undefined,
  });

  const relay = createRelayService({
    database,
    store: relays,
    starter,
    monitor,
    occupancy,
    endpoints,
    firstAttempts:
      config.deliveryWorkflows === 'retries' ? createFirstAttemptService({ attempts, records }) : undefined,
    listen: (onWork) => createOutboxListener({ url, onWork, onError: onFailure }),
    onFailure,
    tracing: core.tracing,
  });
  const sweep = createSweepService({
    database,
    starter,
    onSwept: (report) => logger.info(report, 'the sweep mended something'),
    onFailure,
  });
  const sealer = createAuditSealer({
    database,
    masterKeys: config.masterKeys,
    onFailure: atMostOnceAMinute((error) =>
      logger.error({ reason: reasonOf(error) }, 'the audit log could not be sealed; trying again'),
    ),
  });
  return { attempts, records, relay, sweep, sealer, starter, close: () => agent.close() };
}

/** For what is tried each second, and fails each second while something is wrong. */
function atMostOnceAMinute(report: (error: unknown) => void): (error: unknown) => void {
  let reported = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - reported < 60_000) return;
    reported = performance.now();
    report(error);
  };
}
