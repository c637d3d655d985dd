// Compares unfinished deliveries with the running delivery workflows, in both directions. Without this check, a missing
// workflow could go unnoticed until the next attempt is due, perhaps for a day.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../platform/database/transaction.ts';
import {
  DELIVERY_SIGNALS,
  DELIVERY_WORKFLOW,
  deliveryWorkflowId,
  parseDeliveryWorkflowId,
} from '../../platform/temporal/names.ts';
import type { WorkflowInspector } from '../../platform/temporal/workflow-inspection.client.ts';
import type * as deliveryInspectionStore from '../../webhooks/relay/delivery-inspection.store.ts';
import type { Check, Reporter } from './finding.ts';
import { comesTrue, compareRunning, inGroups, mendedWhen, PACE, type Pace } from './mend-waiting.service.ts';

type Named = { readonly id: string; readonly generation: number };

/** @param options.restart restarts the workflow of a delivery; returns false when there is nothing to start */
export function createDeliveryWorkflowCheck({
  database,
  store,
  inspector,
  restart,
  pace = PACE,
}: {
  database: Queryable;
  store: Pick<typeof deliveryInspectionStore, 'listStarted' | 'listUnfinished'>;
  inspector: Pick<WorkflowInspector, 'listRunning' | 'isRunning' | 'signal' | 'terminate'>;
  restart: (delivery: Named) => Promise<boolean>;
  pace?: Pace | undefined;
}): Check {
  /**
   * Compares a running workflow with its row: `ended` when the delivery has ended, `unmarked` when its row does not
   * note that the workflow was started. An id that does not belong to a delivery workflow has no delivery.
   */
  const compare = async (id: string): Promise<'ended' | 'unmarked' | 'equal'> => {
    const named = parseDeliveryWorkflowId(id);
    const [row] = named === undefined ? [] : await store.listUnfinished(database, [named]);
    if (row === undefined) return 'ended';
    return row.marked ? 'equal' : 'unmarked';
  };

  /** A signalled workflow reads the row of its delivery and ends with it. A workflow without a row is terminated. */
  async function endOrphan(id: string): Promise<'mended' | 'asked'> {
    const hasEnded = async () => !(await inspector.isRunning(id));
    await inspector.signal(id, DELIVERY_SIGNALS.cancel);
    if (await comesTrue(hasEnded, pace)) return 'mended';
    if ((await compare(id)) !== 'ended') return 'asked';
    await inspector.terminate(id, 'countersign doctor: its delivery has ended, and it does not');
    return mendedWhen(hasEnded, pace);
  }

  /** A signalled workflow reads the row of its delivery, and marks it as it makes its attempt or is parked. */
  async function remind(id: string): Promise<'mended' | 'asked'> {
    await inspector.signal(id, DELIVERY_SIGNALS.retryNow);
    const agrees = async () => (await compare(id)) === 'equal' || !(await inspector.isRunning(id));
    return mendedWhen(agrees, pace);
  }

  async function examine({ found, looked }: Reporter): Promise<void> {
    const { missing, orphans } = await compareRunning(
      inspector.listRunning(DELIVERY_WORKFLOW),
      store.listStarted(database, pace.page),
      { idOf: ({ id, generation }) => deliveryWorkflowId(id, generation), looked },
    );
    if (missing.size === 0 && orphans.size === 0) return;
    // The pause lets workflows that were starting or ending settle. After it each id is checked again.
    await sleep(pace.settle);
    await inGroups([...missing], pace.atOnce, async ([id, delivery]) => {
      if ((await inspector.isRunning(id)) || (await compare(id)) === 'ended') return;
      const next = deliveryWorkflowId(delivery.id, delivery.generation + 1);
      const mend = async () => {
        const restarted = await restart(delivery);
        // The restarted delivery waits in the outbox, and its workflow starts when the endpoint opens.
        if (restarted && !delivery.endpointIsOpen) return 'mended' as const;
        const isBack = async () =>
          (await inspector.isRunning(next)) ||
          // The delivery may have ended since it was listed.
          (await store.listUnfinished(database, [{ ...delivery, generation: delivery.generation + 1 }]))
            .length === 0;
        return mendedWhen(isBack, pace);
      };
      const detail = `its delivery is unfinished${delivery.nextAttemptAt === null ? '' : `, due at ${delivery.nextAttemptAt.toISOString()}`}, and it does not run`;
      const { tenantId } = delivery;
      await found({ code: 'workflow_missing', subject: id, tenantId, detail }, mend);
    });
    await inGroups([...orphans], pace.atOnce, async (id) => {
      if (!(await inspector.isRunning(id))) return;
      const state = await compare(id);
      if (state === 'ended') {
        const detail = 'it runs, and its delivery has ended';
        await found({ code: 'workflow_without_row', subject: id, detail }, () => endOrphan(id));
      } else if (state === 'unmarked') {
        const detail = 'it runs, and the row of its delivery does not note that it was started';
        await found({ code: 'workflow_unmarked', subject: id, detail }, () => remind(id));
      }
    });
  }

  return {
    name: DELIVERY_WORKFLOW,
    title: `${DELIVERY_WORKFLOW} workflows and the unfinished deliveries`,
    examine,
  };
}
