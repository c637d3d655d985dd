// Wires `countersign status`: the gauges that each worker reports of the whole service, read once.
import { measureSealer } from '../../audit/wire.ts';
import * as objectiveStore from '../../operations/objectives/objective.store.ts';
import * as actStore from '../../operations/operators/operator-act.store.ts';
import { StatusService } from '../../operations/status/status.service.ts';
import type { Config } from '../../platform/config.ts';
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import { SILENT } from '../../platform/logging.ts';
import { createReadings } from '../../platform/metrics/reading.ts';
import { openPlatform } from '../../platform/platform.ts';
import { askTemporal } from '../../platform/temporal/probe.client.ts';
import { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { VERSION } from '../../platform/version.ts';
import * as accountStore from '../../webhooks/accounts/account.store.ts';
import { measureAccounts } from '../../webhooks/accounts/wire.ts';
import { measureBacklog } from '../../webhooks/backlog/wire.ts';
import { wireEndpoints } from '../../webhooks/endpoints/wire.ts';
import { StandingService } from '../../webhooks/standing/standing.service.ts';

export function wireStanding(config: Config) {
  const platform = openPlatform(config, { logger: SILENT, name: 'status', limits: { connect: 15_000 } });
  const readings = createReadings();
  const { database, registry } = platform;
  measureBacklog(platform, readings);
  measureSealer(platform, readings);
  measureAccounts(platform, readings, () => accountStore.sum(database, KEPT_DAYS + 1));
  const { hostHolds } = wireEndpoints(platform, { commands: new WorkflowCommandService() });
  const status = new StatusService({
    database,
    registry,
    hosts: hostHolds,
    standing: new StandingService({ database }),
    objectives: () => objectiveStore.sum(database),
    acts: { list: (limit) => actStore.list(database, limit) },
    probeTemporal: () => askTemporal(config.temporal),
    version: VERSION,
  });
  return { status, close: () => platform.close() };
}
