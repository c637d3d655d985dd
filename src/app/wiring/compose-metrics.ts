// The wiring of metrics: what each process tells, what only workers read from the database, and where it can be asked for. Like compose.ts it
// must hold no rule of its own.

import { once } from 'node:events';
import * as checkpointStore from '../../audit/checkpoint.store.ts';
import { registerSealerMetrics } from '../../audit/sealer.metrics.ts';
import * as challengeExpiryStore from '../../authentication/challenges/challenge-expiry.store.ts';
import * as delegationExpiryStore from '../../authentication/delegations/delegation-expiry.store.ts';
import * as keyScheduleStore from '../../authentication/issuer/key-schedule.store.ts';
import * as anchorCheckStore from '../../identity/anchors/anchor-check.store.ts';
import * as rotationStore from '../../identity/keys/rotation.store.ts';
import type { Config } from '../../platform/config.ts';
import { isAway } from '../../platform/database/errors.ts';
import { createOperationsServer, type Readiness } from '../../platform/http/operations-server.ts';
import { registerPoolMetrics } from '../../platform/metrics/pool.metrics.ts';
import { createReading } from '../../platform/metrics/reading.ts';
import { registerProcess, registerReadiness } from '../../platform/metrics/registry.ts';
import { ENTITY_WORKFLOW_TYPES } from '../../platform/temporal/names.ts';
import { registerWorkflowCommandMetrics } from '../../platform/temporal/workflow-command.metrics.ts';
import * as workflowCommandStore from '../../platform/temporal/workflow-command.store.ts';
import { VERSION } from '../../platform/version.ts';
import { registerAccountMetrics } from '../../webhooks/accounts/account.metrics.ts';
import type { Standing } from '../../webhooks/accounts/account.store.ts';
import { registerBacklogMetrics } from '../../webhooks/relay/backlog.metrics.ts';
import { createBacklogStore } from '../../webhooks/relay/backlog.store.ts';
import * as signingSecretStore from '../../webhooks/subscriptions/signing-secret.store.ts';
import { explainListen } from '../local/ports.ts';
import type { Core } from './compose.ts';

/** Seconds after which what nobody has done counts as overdue. */
const LATE = 300;

/** What every process tells of itself. */
export function composeProcessMetrics(
  { registry, database }: Core,
  { role, readiness }: { role: string; readiness: () => Promise<Readiness> },
): void {
  registerProcess({ registry, role, version: VERSION });
  registerPoolMetrics({ registry, poolUse: database.poolUse });
  registerReadiness({ registry, readiness });
}

/** What workers read from the database at each scrape; every worker tells the same. */
export function composeStandingMetrics(
  { registry, database }: Core,
  { readStanding }: { readStanding: () => Promise<Standing> },
): void {
  const backlog = createBacklogStore();
  const parts = {
    rows: () => backlog.countRows(database),
    endpoints: () => backlog.countEndpoints(database),
    lag: () => backlog.readLag(database),
    late: () => backlog.readOverdue(database),
    relays: () => backlog.countRelays(database),
    commands: () => workflowCommandStore.waiting(database),
    overdue: async () => ({
      agentKeyRotation: await rotationStore.countOverdue(database),
      anchorVerification: await anchorCheckStore.countOverdue(database),
      challengeExpiry: (await challengeExpiryStore.findOldestUnswept(database, LATE)) === null ? 0 : 1,
      delegationExpiry: await delegationExpiryStore.countOverdue(database),
      issuerKeyRotation: await keyScheduleStore.countOverdue(database),
      webhookSecretRotation: await signingSecretStore.countOverdue(database),
    }),
    unsealed: () => checkpointStore.unsealedSeconds(database),
    accounts: readStanding,
  };
  const read = createReading(parts, { isAway });
  registerBacklogMetrics({
    registry,
    read: {
      rows: () => read('rows'),
      endpoints: () => read('endpoints'),
      lag: () => read('lag'),
      overdue: () => read('late'),
      relays: () => read('relays'),
    },
  });
  registerWorkflowCommandMetrics({
    registry,
    workflows: ENTITY_WORKFLOW_TYPES,
    read: () => read('commands'),
    readOverdue: () => read('overdue'),
  });
  registerSealerMetrics({ registry, read: () => read('unsealed') });
  registerAccountMetrics({ registry, read: () => read('accounts') });
}

/**
 * Serves liveness, readiness and metrics for operators, where the settings say so.
 * @param options.part whose it is, for the line that says why it cannot listen
 * @param options.onMissing told why nobody listens, where the process can do without; without it that is an error
 * @returns how to close it
 * @throws LocalStackError with one line when its port cannot be had
 */
export async function serveOperations(
  { metricsHost: host, metricsPort: port }: Pick<Config, 'metricsHost' | 'metricsPort'>,
  {
    part,
    readiness,
    metrics,
    onMissing,
  }: {
    part: string;
    readiness: () => Promise<Readiness>;
    metrics: () => Promise<string>;
    onMissing?: ((error: unknown) => void) | undefined;
  },
): Promise<{ close(): void }> {
  if (port === 0) return { close: () => undefined };
  const server = createOperationsServer({ readiness, metrics });
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const explained = explainListen(error, { host, port, variable: 'METRICS_PORT', part });
    if (onMissing === undefined) throw explained;
    onMissing(explained);
  }
  return {
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
