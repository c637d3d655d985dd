// endpointRecovery watches a failing endpoint until it works again. Endpoints open by their row in Postgres, without
// this workflow.
// docs/decisions/0010-endpoint-recovery.md
import { defineUpdate, proxyActivities } from '@temporalio/workflow';
import type { EndpointRecoveryActivities } from '../activities/endpoint-recovery.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import type { EndpointStanding, OperatorStep } from '../src/webhooks/endpoints/endpoint-recovery.service.ts';
import type { DueRecoveryStep, RecoveryWait } from '../src/webhooks/endpoints/recovery-step.ts';
import { ENTITY_ACTIVITIES, entityWorkflow } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the endpoint without a signal. */
export type EndpointRecoveryState = Omit<EndpointStanding, 'step' | 'epoch'> & {
  readonly doing: 'reading' | DueRecoveryStep | 'waiting' | 'ended';
  readonly waitsFor: RecoveryWait | null;
  readonly until: string | null;
};

export type EndpointRecoveryResult = Pick<EndpointStanding, 'state' | 'waiting'>;

/** An operator's update: lets one attempt begin now, even if the endpoint is held by `Retry-After`. */
const probeNow = defineUpdate<EndpointRecoveryState, []>('probeNow');
/** An operator's update: opens the endpoint. All waiting deliveries are sent, paced. */
const release = defineUpdate<EndpointRecoveryState, []>('release');
/** An operator's update: holds the endpoint for `seconds`. */
const hold = defineUpdate<EndpointRecoveryState, [seconds: number]>('hold');

const LONGEST_HOLD = 604_800;

const activities = proxyActivities<EndpointRecoveryActivities>(ENTITY_ACTIVITIES);

const SUMMARIES: Readonly<Record<RecoveryWait, string>> = {
  retries: 'next retries at',
  hold: 'hold until',
  probe: 'next probe at',
  outcome: "until the probe's outcome",
  release: 'until all that waited goes out freely',
  success: 'until a delivery succeeds',
};

const STEPS = {
  sendRetries: {
    doing: 'sendRetries',
    activity: activities.sendDueRetries,
    summary: 'the retries that are due',
  },
  warn: {
    doing: 'warn',
    activity: activities.warnOfFailingEndpoint,
    summary: 'it has failed for long: people are told',
  },
  announceRecovery: {
    doing: 'announceRecovery',
    activity: activities.announceRecovery,
    summary: 'it works again',
  },
  deactivate: {
    doing: 'deactivate',
    activity: activities.deactivateEndpoint,
    summary: 'it has failed for too long',
  },
} as const;

/**
 * Watches an endpoint that is held, down or failing until it works again. Source: Specification, "Delivery"
 * (Retry-After), "Webhook subscription" (states).
 * @param input.id id of the subscription
 * @returns the endpoint's final state
 */
export function endpointRecovery(input: EntityInput): Promise<EndpointRecoveryResult> {
  const name = { tenantId: input.tenantId, subscriptionId: input.id };
  let waitsFor: RecoveryWait | null = null;
  const sendRetries = () =>
    activities.sendDueRetries.executeWithOptions({ summary: STEPS.sendRetries.summary }, [name]);
  const operate = (step: OperatorStep) =>
    activities.operateEndpoint.executeWithOptions({ summary: `by an operator: ${step.kind}` }, [name, step]);

  return entityWorkflow<typeof name, EndpointStanding, EndpointRecoveryState | null, EndpointRecoveryResult>(
    input,
    {
      name,
      read: { activity: activities.readEndpoint, summary: 'how the endpoint stands' },
      steps: STEPS,
      wait: ({ reason, delayMs }, now) => {
        waitsFor = reason;
        return { doing: 'waiting', delayMs, summary: summaryOf(reason, now) };
      },
      readAfterWait: ({ epoch }, signaled) => {
        if (!signaled && waitsFor === 'retries') return sendRetries();
        if (signaled || waitsFor !== 'probe') return undefined;
        const summary = 'one delivery is let through';
        return activities.probeEndpoint.executeWithOptions({ summary }, [name, epoch]);
      },
      state: (standing, progress) => {
        if (standing === undefined) return null;
        const { step: _, epoch: __, ...facts } = standing;
        return { ...facts, ...progress, waitsFor: progress.until === null ? null : waitsFor };
      },
      help: wordHelp(
        {
          probeNow: 'lets one attempt through',
          release: 'opens it, paced',
          hold: 'closes it for so many seconds',
        },
        'endpoint-recovery',
      ),
      details: detailsOf,
      attributes: ({ state, host, lastError }) => ({
        entityState: state,
        subscriptionId: input.id,
        endpointHost: host,
        lastOutcome: lastError,
      }),
      updates: (on) => {
        on(probeNow, { perform: () => operate({ kind: 'probe' }), refuse: refuseUnlessClosed });
        on(release, {
          perform: () => operate({ kind: 'release' }),
          refuse: (standing) => {
            if (standing?.state !== 'probing') refuseUnlessClosed(standing);
          },
        });
        on(hold, {
          perform: (seconds) => operate({ kind: 'hold', seconds }),
          refuse: (_, seconds) => {
            if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_HOLD)
              throw new Error(`The seconds must be a whole number from 1 to ${LONGEST_HOLD}.`);
          },
        });
      },
      result: ({ state, waiting }) => ({ state, waiting }),
    },
  );
}

/** `hold until 07:50:16 · after http:429`. The hold of a host may have no end. */
function summaryOf(
  reason: RecoveryWait,
  { opensAt, heldBy, lastError, crowd, crowdDueAt }: EndpointStanding,
): string {
  if (reason === 'retries' && crowdDueAt)
    return `${SUMMARIES.retries} ${wordTime(crowdDueAt)} · ${crowd} wait`;
  const isTimed = reason === 'hold' || reason === 'probe';
  const time = isTimed ? ` ${opensAt === null ? 'it is released' : wordTime(opensAt)}` : '';
  const cause =
    heldBy === 'operator' ? ' · by an operator' : lastError === null ? '' : ` · after ${lastError}`;
  return `${SUMMARIES[reason]}${time}${cause}`;
}

function refuseUnlessClosed(standing: EndpointStanding | undefined): void {
  if (standing?.heldBy === 'operator')
    throw new Error('An operator holds the host for all tenants: it has to be released first.');
  if (standing !== undefined && standing.opensAt === null)
    throw new Error('Only an endpoint that is held or down can be opened.');
}

const HOLDERS = {
  operator: ' An operator holds its host, for all tenants.',
  endpoint: ' It has asked for a pause (`Retry-After`), or the update `hold` closed it.',
} as const;

/** The crowd by its number, the times of its retries, and its oldest delivery. It has no other page here. */
function crowdOf({ crowd, crowdDueAt, crowdLastDueAt, crowdOldest }: EndpointStanding): string {
  if (!crowdDueAt) return '';
  const last = crowdLastDueAt ? `, the last at ${wordTime(crowdLastDueAt)}` : '';
  const oldest = crowdOldest
    ? `; the oldest is \`${crowdOldest.id}\`, of ${wordTime(crowdOldest.since)}`
    : '';
  return ` Of them ${crowd} wait here for an early retry, the next at ${wordTime(crowdDueAt)}${last}${oldest}.`;
}

function detailsOf(standing: EndpointStanding): string {
  const { state, failingSince, lastError, opensAt, heldBy, waiting, crowdDueAt, deactivatesAt } = standing;
  if (
    (state === 'open' && !crowdDueAt) ||
    state === 'inactive' ||
    state === 'suspended' ||
    state === 'deleted'
  )
    return `Ended: the endpoint is ${state}.`;
  const since = failingSince === null ? '' : ` Nothing but failures since ${wordTime(failingSince)}`;
  const why = lastError === null ? '' : ` (last: ${lastError})`;
  const who = heldBy ? HOLDERS[heldBy] : '';
  const next = opensAt === null ? '' : ` The next delivery may go out at ${wordTime(opensAt)}.`;
  const end =
    deactivatesAt === null
      ? ''
      : ` Deactivated at ${wordTime(deactivatesAt)} unless it takes something before.`;
  return `The endpoint is **${state}** (times in UTC).${who}${since}${why}${since === '' ? '' : '.'}${next} Deliveries that wait: ${waiting}.${crowdOf(standing)}${end}`;
}
