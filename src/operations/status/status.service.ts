// Reads how the whole service stands. Each part is read by itself, so that one that fails hides no other.

import type { Registry } from 'prom-client';
import type { Database } from '../../platform/database/database.ts';
import type { Objective, ObjectiveCount } from '../../platform/metrics/objectives.ts';
import { Service } from '../../platform/service.ts';
import type { HostHoldService } from '../../webhooks/endpoints/host-hold.service.ts';
import type { StandingService } from '../../webhooks/standing/standing.service.ts';
import { judgeObjectives } from '../objectives/objective.service.ts';
import type { OperatorAct } from '../operators/operator-act.ts';
import * as store from './status.store.ts';
import type { Standing } from './status.ts';

const MOST_HOSTS = 5;
const MOST_ACTS = 200;

export class StatusService extends Service<{
  database: Pick<Database, 'query' | 'transaction'>;
  /** Has the gauges that each worker reports of the whole service. */
  registry: Pick<Registry, 'getMetricsAsJSON'>;
  hosts: Pick<HostHoldService, 'listFailing'>;
  acts: { list(limit: number): Promise<readonly OperatorAct[]> };
  standing: Pick<StandingService, 'readAll'>;
  objectives: () => Promise<ReadonlyMap<Objective, ObjectiveCount>>;
  probeTemporal: () => Promise<boolean>;
  version: string;
}> {
  /** Reads how the service stands. What cannot be read is null. */
  read = async (): Promise<Standing> => {
    const [processes, endpoints, failingHosts, newestActs, counts, isReachable, gauges] = await Promise.all([
      store.listProcesses(this.needs.database).catch(() => null),
      this.needs.standing.readAll().catch(() => null),
      this.needs.hosts
        .listFailing(this.needs.database, { errorClass: undefined, limit: MOST_HOSTS })
        .catch(() => null),
      this.needs.acts.list(MOST_ACTS).catch(() => null),
      this.needs.objectives().catch(() => null),
      this.needs.probeTemporal().catch(() => false),
      readGauges(this.needs.registry),
    ]);
    return {
      version: this.needs.version,
      processes,
      temporal: isReachable ? 'reachable' : 'unreachable',
      gauges,
      failingHosts,
      endpoints,
      objectives: counts && judgeObjectives(counts),
      lastMended: newestActs?.find(({ target }) => target.id === 'doctor')?.at ?? null,
    };
  };
}

async function readGauges(registry: Pick<Registry, 'getMetricsAsJSON'>): Promise<Standing['gauges']> {
  const metrics = await registry.getMetricsAsJSON();
  /** The sum of the values with these labels; null when the query failed. */
  const sum = (name: string, label?: string, value?: string): number | null => {
    const values = metrics.find((metric) => metric.name === name)?.values ?? [];
    const found = values.filter(({ labels }) => label === undefined || labels[label] === value);
    return found.length === 0 ? null : Math.round(found.reduce((total, each) => total + each.value, 0));
  };
  return {
    waiting: sum('countersign_outbox_rows'),
    oldestWaiting: sum('countersign_relay_lag_seconds', 'endpoints', 'healthy'),
    oldestCommand: sum('countersign_relay_lag_seconds', 'endpoints', 'command'),
    overdue: sum('countersign_deliveries_overdue'),
    mostOverdue: sum('countersign_deliveries_overdue_seconds'),
    unsealed: sum('countersign_audit_unsealed_seconds'),
    unaccounted: sum('countersign_delivery_account_difference'),
  };
}
