// Wires `countersign status`.
import * as objectiveStore from '../../operations/objectives/objective.store.ts';
import * as actStore from '../../operations/operators/operator-act.store.ts';
import { StatusService } from '../../operations/status/status.service.ts';
import type { Config } from '../../platform/config.ts';
import { SILENT } from '../../platform/logging.ts';
import { openPlatform } from '../../platform/opening/platform.ts';
import { askTemporal } from '../../platform/temporal/probe.client.ts';
import { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { VERSION } from '../../platform/version.ts';
import * as backlogStore from '../../webhooks/backlog/backlog.store.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { StandingService } from '../../webhooks/standing/standing.service.ts';
import { listInvariants } from './invariants.ts';

export function wireStanding(config: Config) {
  const platform = openPlatform(config, { logger: SILENT, name: 'status', limits: { connect: 15_000 } });
  const { database } = platform;
  const { hostHolds } = wireEndpoints(platform, { commands: new WorkflowCommandService() });
  const status = new StatusService({
    database,
    backlog: () => backlogStore.readBacklog(database),
    invariants: listInvariants(config),
    hosts: hostHolds,
    standing: new StandingService({ database }),
    objectives: () => objectiveStore.sum(database),
    acts: { list: (limit) => actStore.list(database, limit) },
    probeTemporal: () => askTemporal(config.temporal),
    version: VERSION,
  });
  return { status, close: () => platform.close() };
}
