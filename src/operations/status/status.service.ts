// Reads how the whole service stands. Each part is read by itself, so that one that fails hides no other.
import type { Database } from '../../platform/database/database.ts';
import type { Objective, ObjectiveCount } from '../../platform/metrics/objectives.ts';
import { Service } from '../../platform/service.ts';
import type { HostHoldService } from '../../webhooks/endpoints/host-hold.service.ts';
import type { StandingService } from '../../webhooks/standing/standing.service.ts';
import type { Invariant, Standing as InvariantStanding } from '../invariants/invariant.ts';
import { judgeObjectives } from '../objectives/objective.service.ts';
import type { OperatorAct } from '../operators/operator-act.ts';
import * as store from './status.store.ts';
import type { Standing } from './status.ts';

const MOST_HOSTS = 5;
const MOST_ACTS = 200;

export class StatusService extends Service<{
  database: Pick<Database, 'query' | 'transaction'>;
  backlog: () => Promise<Standing['backlog']>;
  invariants: readonly Invariant[];
  hosts: Pick<HostHoldService, 'listFailing'>;
  acts: { list(limit: number): Promise<readonly OperatorAct[]> };
  standing: Pick<StandingService, 'readAll'>;
  objectives: () => Promise<ReadonlyMap<Objective, ObjectiveCount>>;
  probeTemporal: () => Promise<boolean>;
  version: string;
}> {
  /** Reads how the service stands. What cannot be read is null. */
  read = async (): Promise<Standing> => {
    const [processes, endpoints, failingHosts, newestActs, counts, isReachable, backlog, invariants] =
      await Promise.all([
        store.listProcesses(this.needs.database).catch(() => null),
        this.needs.standing.readAll().catch(() => null),
        this.needs.hosts
          .listFailing(this.needs.database, { errorClass: undefined, limit: MOST_HOSTS })
          .catch(() => null),
        this.needs.acts.list(MOST_ACTS).catch(() => null),
        this.needs.objectives().catch(() => null),
        this.needs.probeTemporal().catch(() => false),
        this.needs.backlog().catch(() => null),
        Promise.all(this.needs.invariants.map(this.#readInvariant)),
      ]);
    return {
      version: this.needs.version,
      processes,
      temporal: isReachable ? 'reachable' : 'unreachable',
      backlog,
      invariants,
      failingHosts,
      endpoints,
      objectives: counts && judgeObjectives(counts),
      lastMended: newestActs?.find(({ target }) => target.id === 'doctor')?.at ?? null,
    };
  };

  /** One whose statement fails has no breach, and hides no other. */
  #readInvariant = async ({ name, says, severity, late, find }: Invariant): Promise<InvariantStanding> => ({
    ...{ name, says, severity },
    breach: await find(this.needs.database, late).catch(() => undefined),
  });
}
