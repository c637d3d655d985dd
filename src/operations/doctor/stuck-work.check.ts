// Checks for rows in Postgres that no process takes over. It mends them with the code of the sweep, which runs each
// minute in a worker.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type * as deliveryInspectionStore from '../../webhooks/relay/delivery-inspection.store.ts';
import type { StuckWork } from '../../webhooks/relay/delivery-inspection.store.ts';
import type { SweepService } from '../../webhooks/relay/sweep.service.ts';
import type { Check } from './finding.ts';

/** Milliseconds after which waiting work counts as stuck. */
const STUCK_AFTER = 5 * 60_000;

type Kind = {
  readonly code: string;
  readonly subject: string;
  readonly detail: string;
  readonly find: () => Promise<StuckWork>;
  readonly isSwept: boolean;
};

/** @param options.sweep the sweep of a worker; `run` returns undefined while a worker is sweeping */
export function createStuckWorkCheck({
  database,
  store,
  commands,
  sweep,
}: {
  database: Queryable;
  store: Omit<typeof deliveryInspectionStore, 'listStarted' | 'listUnfinished'>;
  commands: Pick<WorkflowCommandService, 'findStuck'>;
  sweep: Pick<SweepService, 'run'>;
}): Check {
  const kinds: readonly Kind[] = [
    {
      code: 'command_stuck',
      subject: 'workflow_commands',
      detail: 'changes without a signal to their workflow',
      find: () => commands.findStuck(database, STUCK_AFTER),
      isSwept: false,
    },
    {
      code: 'intent_stuck',
      subject: 'outbox',
      detail: 'retries and cancels that reached no delivery',
      find: () => store.findStuckCommands(database, STUCK_AFTER),
      isSwept: false,
    },
    {
      code: 'claim_dead',
      subject: 'outbox',
      detail:
        'deliveries that a relay took which is gone; the next relay takes them over: does a worker run?',
      find: () => store.findDeadClaims(database),
      isSwept: false,
    },
    {
      code: 'delivery_not_canceled',
      subject: 'deliveries',
      detail: 'unfinished deliveries of deleted subscriptions',
      find: () => store.findOfDeleted(database, STUCK_AFTER),
      isSwept: true,
    },
    {
      code: 'work_not_removed',
      subject: 'outbox',
      detail: 'rows of ended deliveries of deleted subscriptions',
      find: () => store.findLeft(database, STUCK_AFTER),
      isSwept: true,
    },
    {
      code: 'crowd_overdue',
      subject: 'crowded_deliveries',
      detail: 'deliveries whose early retry the workflow of their endpoint has not let begin',
      find: () => store.findCrowded(database, STUCK_AFTER),
      isSwept: true,
    },
    {
      code: 'delivery_not_woken',
      subject: 'deliveries',
      detail: 'deliveries that wait for an endpoint which takes them, and that nothing wakes',
      find: () => store.findParked(database),
      isSwept: true,
    },
  ];
  return {
    name: 'stuckWork',
    title: 'work that nobody takes',
    examine: async ({ found, looked }) => {
      for (const { code, subject, detail, find, isSwept } of kinds) {
        looked(1);
        const { count, oldest } = await find();
        if (count === 0) continue;
        const since = oldest === null ? '' : `, the oldest of ${oldest.toISOString()}`;
        const mend = async () => {
          await sweep.run();
          return (await find()).count === 0 ? ('mended' as const) : ('asked' as const);
        };
        await found({ code, subject, detail: `${count} ${detail}${since}` }, isSwept ? mend : undefined);
      }
    },
  };
}
