// bulkReplay runs a bulk replay in chunks, with pauses. Its position is stored in Postgres.
import { defineUpdate, proxyActivities } from '@temporalio/workflow';
import type { BulkReplayActivities } from '../activities/bulk-replay.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import type { BulkReplayStanding } from '../src/webhooks/replays/bulk-replay-steps.service.ts';
import { ENTITY_ACTIVITIES, entityWorkflow, forReason } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow continues without a signal. */
export type BulkReplayState = Pick<BulkReplayStanding, 'status' | 'matched' | 'replayed' | 'remaining'> & {
  readonly doing:
    | 'replaying'
    | 'pausing'
    | 'waiting for the relay'
    | 'waiting for the subscription'
    | 'ended';
  readonly until: string | null;
};

export type BulkReplayResult = Pick<BulkReplayStanding, 'status' | 'matched' | 'replayed'>;

/** An operator's update: cancels the bulk replay. The audit log keeps the reason. */
const cancel = defineUpdate<undefined, [reason?: string]>('cancel');

/** In milliseconds: the pause between two chunks, and the limits of the growing wait for the relay or subscription. */
const PAUSE = 200;
const LEAST_WAIT = 1_000;
const LONGEST_WAIT = 60_000;

const activities = proxyActivities<BulkReplayActivities>({
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
 * Replays deliveries, the oldest first, in paced chunks. Source: Specification, "Webhook management".
 * @param input.id id of the bulk replay
 * @returns the final status and the number of replayed deliveries
 */
export function bulkReplay(input: EntityInput): Promise<BulkReplayResult> {
  const name = { tenantId: input.tenantId, id: input.id };
  let waits = 0;
  return entityWorkflow<typeof name, BulkReplayStanding, BulkReplayState, BulkReplayResult>(input, {
    name,
    read: {
      activity: activities.replayDeliveries,
      summary: (standing) => `after ${standing?.replayed ?? 0} deliveries`,
    },
    steps: {},
    wait: (step) => {
      waits = step === 'chunk' ? 0 : waits + 1;
      const delayMs = step === 'chunk' ? PAUSE : Math.min(LONGEST_WAIT, LEAST_WAIT * 2 ** (waits - 1));
      const { doing, summary } = WAITS[step];
      const next = step === 'chunk' ? '' : ` · next look ${wordTime(Date.now() + delayMs)}`;
      return { doing, delayMs, summary: `${summary}${next}` };
    },
    state: (standing, { doing, until }) => ({
      status: standing?.status ?? 'running',
      matched: standing?.matched ?? 0,
      replayed: standing?.replayed ?? 0,
      remaining: standing?.remaining ?? 0,
      doing: doing === 'reading' ? 'replaying' : doing,
      until,
    }),
    help: wordHelp({ cancel: 'stops it, and keeps what was replayed' }, 'bulk-replay'),
    details: ({ status, matched, replayed, step }) => {
      const waiting = step === 'end' || step === 'chunk' ? '' : ` Waits ${WAITS[step].summary}.`;
      return `${replayed} of ${matched} deliveries replayed; ${status}.${waiting}`;
    },
    attributes: ({ status, step }) => ({
      entityState: step === 'wait_for_subscription' ? 'paused' : status,
    }),
    updates: (on) => on(cancel, forReason(name, activities.cancelReplay)),
    result: ({ status, matched, replayed }) => ({ status, matched, replayed }),
  });
}
