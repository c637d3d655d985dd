// A replay of many deliveries, chunk by chunk. It owns the pace only: what is replayed next, and whether it was already, stands in Postgres.
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { BulkRecoveryActivities } from '../activities/bulk-recovery.ts';
import { type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import type { RecoveryStanding } from '../src/webhooks/replays/bulk-replay-steps.service.ts';
import { changed, checkReason, ENTITY_ACTIVITIES, isHistoryLong, showDetails } from './entity.ts';

/** How far it is; `until` is when the workflow goes on by itself. */
export type BulkRecoveryState = Pick<RecoveryStanding, 'status' | 'matched' | 'replayed' | 'remaining'> & {
  readonly doing:
    | 'replaying'
    | 'pausing'
    | 'waiting for the relay'
    | 'waiting for the subscription'
    | 'ended';
  readonly until: string | null;
};

export type BulkRecoveryResult = Pick<RecoveryStanding, 'status' | 'matched' | 'replayed'>;

/** An operator cancels the recovery; the reason goes into the audit log. */
const cancel = defineUpdate<void, [reason?: string]>('cancel');
const state = defineQuery<BulkRecoveryState>('state');

/** Milliseconds: between two chunks, and while there is something to wait for, which grows. */
const PAUSE = 200;
const LEAST_WAIT = 1_000;
const LONGEST_WAIT = 60_000;

const activities = proxyActivities<BulkRecoveryActivities>({
  ...ENTITY_ACTIVITIES,
  startToCloseTimeout: '30s',
});

const WAITS = {
  chunk: { doing: 'pausing', summary: 'before the next deliveries' },
  wait_for_relay: { doing: 'waiting for the relay', summary: 'until the relay has taken what was replayed' },
  wait_for_subscription: {
    doing: 'waiting for the subscription',
    summary: 'until the subscription is active',
  },
} as const;

/**
 * Replays the deliveries of a recovery, the oldest first and paced. Source: Specification, "Webhook management".
 * @param input.id of the recovery
 * @returns how it ended, and how many were replayed
 */
export async function bulkRecovery(input: EntityInput): Promise<BulkRecoveryResult> {
  const name = { tenantId: input.tenantId, id: input.id };
  let standing: RecoveryStanding | undefined;
  let told = false;
  let waits = 0;
  let doing: BulkRecoveryState['doing'] = 'replaying';
  let until: string | null = null;
  let shown = '';

  setHandler(changed, () => {
    told = true;
  });
  setHandler(state, () => ({
    status: standing?.status ?? 'running',
    matched: standing?.matched ?? 0,
    replayed: standing?.replayed ?? 0,
    remaining: standing?.remaining ?? 0,
    doing,
    until,
  }));
  setHandler(
    cancel,
    async (reason?: string) => {
      await activities.cancelRecovery.executeWithOptions({ summary: 'by an operator' }, [
        name,
        reason ?? null,
      ]);
      told = true;
    },
    { validator: checkReason },
  );

  const show = ({ status, matched, replayed, step }: RecoveryStanding): void => {
    const waiting = step === 'end' || step === 'chunk' ? '' : ` Waits ${WAITS[step].summary}.`;
    showDetails(input, `${replayed} of ${matched} deliveries replayed; ${status}.${waiting}`);
    const label = step === 'wait_for_subscription' ? 'paused' : status;
    if (!input.indexed || shown === label) return;
    shown = label;
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.entityState, value: label }]);
  };

  const wait = async (step: keyof typeof WAITS): Promise<void> => {
    waits = step === 'chunk' ? 0 : waits + 1;
    const delayMs = step === 'chunk' ? PAUSE : Math.min(LONGEST_WAIT, LEAST_WAIT * 2 ** (waits - 1));
    doing = WAITS[step].doing;
    until = new Date(Date.now() + delayMs).toISOString();
    await condition(() => told, delayMs, { summary: WAITS[step].summary });
    until = null;
  };

  for (;;) {
    doing = 'replaying';
    told = false;
    const summary = `after ${standing?.replayed ?? 0} deliveries`;
    standing = await activities.replayDeliveries.executeWithOptions({ summary }, [name]);
    show(standing);
    if (standing.step !== 'end') await wait(standing.step);
    else {
      doing = 'ended';
      await condition(allHandlersFinished);
      const { status, matched, replayed } = standing;
      return { status, matched, replayed };
    }
    if (isHistoryLong()) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof bulkRecovery>(input);
    }
  }
}
