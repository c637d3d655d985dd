// The actor of an endpoint in trouble: it shows how it stands, sees to its probes, warns, deactivates, and lets an operator act. It owns
// waiting only: what is due is read in Postgres each time, where an endpoint also opens by itself when this does not run.
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
import type { EndpointRecoveryActivities } from '../activities/endpoint-recovery.ts';
import { type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import type { EndpointStanding, OperatorStep } from '../src/webhooks/endpoints/endpoint-recovery.service.ts';
import type { DueRecoveryStep, RecoveryWait } from '../src/webhooks/endpoints/recovery-step.ts';
import { changed, ENTITY_ACTIVITIES, isHistoryLong, showDetails } from './entity.ts';

/** How it stands; `until` is when the workflow looks again by itself. */
export type EndpointRecoveryState = Omit<EndpointStanding, 'step' | 'epoch'> & {
  readonly doing: 'reading' | DueRecoveryStep | 'waiting' | 'ended';
  readonly waitsFor: RecoveryWait | null;
  readonly until: string | null;
};

export type EndpointRecoveryResult = Pick<EndpointStanding, 'state' | 'waiting'>;

const state = defineQuery<EndpointRecoveryState | null>('state');
/** One attempt passes now, whatever the endpoint asked for. */
const probeNow = defineUpdate<EndpointRecoveryState, []>('probeNow');
/** All that waits goes out, paced. */
const release = defineUpdate<EndpointRecoveryState, []>('release');
/** Nothing goes out for so many seconds. */
const hold = defineUpdate<EndpointRecoveryState, [seconds: number]>('hold');

/** Seconds that an operator may hold an endpoint for: a week. */
const LONGEST_HOLD = 604_800;

const activities = proxyActivities<EndpointRecoveryActivities>(ENTITY_ACTIVITIES);

/** What an operator reads while nothing is under way. */
const SUMMARIES: Readonly<Record<RecoveryWait, string>> = {
  hold: "until the hold's end",
  probe: 'until the next probe',
  outcome: "until the probe's outcome",
  release: 'until all that waited goes out freely',
  success: 'until a delivery succeeds',
};

const WORK = {
  warn: { activity: 'warnOfFailingEndpoint', summary: 'it has failed for long: people are told' },
  announceRecovery: { activity: 'announceRecovery', summary: 'it works again' },
  deactivate: { activity: 'deactivateEndpoint', summary: 'it has failed for too long' },
} as const satisfies Readonly<
  Record<DueRecoveryStep, { activity: keyof EndpointRecoveryActivities; summary: string }>
>;

/**
 * Watches over an endpoint that is held, down or failing until it works again. Source: Specification, "Delivery" (Retry-After),
 * "Webhook subscription" (states).
 * @param input.id of the subscription
 * @returns in which state it was left
 */
export async function endpointRecovery(input: EntityInput): Promise<EndpointRecoveryResult> {
  const name = { tenantId: input.tenantId, subscriptionId: input.id };
  let standing: EndpointStanding | undefined;
  let told = false;
  let doing: EndpointRecoveryState['doing'] = 'reading';
  let waitsFor: RecoveryWait | null = null;
  let until: string | null = null;
  let shown = '';

  const presentOf = ({ step: _, epoch: __, ...facts }: EndpointStanding): EndpointRecoveryState => ({
    ...facts,
    doing,
    waitsFor,
    until,
  });
  setHandler(changed, () => {
    told = true;
  });
  setHandler(state, () => (standing === undefined ? null : presentOf(standing)));

  const operate = async (step: OperatorStep): Promise<EndpointRecoveryState> => {
    const summary = `by an operator: ${step.kind}`;
    standing = await activities.operateEndpoint.executeWithOptions({ summary }, [name, step]);
    told = true;
    return presentOf(standing);
  };
  const refuseUnlessClosed = () => {
    if (standing?.heldBy === 'operator')
      throw new Error('An operator holds the host for all tenants: it has to be released first.');
    if (standing !== undefined && standing.opensAt === null)
      throw new Error('Only an endpoint that is held or down can be opened.');
  };
  setHandler(probeNow, () => operate({ kind: 'probe' }), { validator: refuseUnlessClosed });
  setHandler(release, () => operate({ kind: 'release' }), {
    validator: () => {
      if (standing?.state !== 'probing') refuseUnlessClosed();
    },
  });
  setHandler(hold, (seconds) => operate({ kind: 'hold', seconds }), {
    validator: (seconds) => {
      if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_HOLD)
        throw new Error(`The seconds must be a whole number from 1 to ${LONGEST_HOLD}.`);
    },
  });

  const read = (): Promise<EndpointStanding> => {
    doing = 'reading';
    // From here on only what is signaled later counts: the reading sees everything that was there before.
    told = false;
    return activities.readEndpoint.executeWithOptions({ summary: 'how the endpoint stands' }, [name]);
  };

  const show = (now: EndpointStanding): void => {
    showDetails(input, detailsOf(now));
    const label = `${now.state} ${now.host} ${now.lastError}`;
    if (!input.indexed || shown === label) return;
    shown = label;
    upsertSearchAttributes([
      { key: SEARCH_ATTRIBUTES.subscriptionId, value: input.id },
      { key: SEARCH_ATTRIBUTES.entityState, value: now.state },
      ...(now.host === null ? [] : [{ key: SEARCH_ATTRIBUTES.endpointHost, value: now.host }]),
      ...(now.lastError === null ? [] : [{ key: SEARCH_ATTRIBUTES.lastOutcome, value: now.lastError }]),
    ]);
  };

  const perform = (step: DueRecoveryStep): Promise<EndpointStanding> => {
    doing = step;
    const { activity, summary } = WORK[step];
    return activities[activity].executeWithOptions({ summary }, [name]);
  };

  const wait = async (
    { reason, delayMs }: { reason: RecoveryWait; delayMs: number },
    epoch: number,
  ): Promise<EndpointStanding> => {
    doing = 'waiting';
    waitsFor = reason;
    until = new Date(Date.now() + delayMs).toISOString();
    const heard = await condition(() => told, Math.max(1, delayMs), { summary: SUMMARIES[reason] });
    waitsFor = null;
    until = null;
    if (heard || reason !== 'probe') return read();
    doing = 'reading';
    told = false;
    return activities.probeEndpoint.executeWithOptions({ summary: 'one delivery is let through' }, [
      name,
      epoch,
    ]);
  };

  let now = await read();
  for (;;) {
    standing = now;
    const { step } = now;
    if (step.kind !== 'wait' && step.kind !== 'end') {
      now = await perform(step.kind);
      continue;
    }
    show(now);
    if (isHistoryLong()) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof endpointRecovery>(input);
    }
    if (step.kind === 'wait') {
      now = await wait(step, now.epoch);
      continue;
    }
    doing = 'ended';
    await condition(allHandlersFinished);
    if (!told) return { state: now.state, waiting: now.waiting };
    now = await read();
  }
}

function detailsOf({
  state,
  failingSince,
  lastError,
  opensAt,
  heldBy,
  waiting,
  deactivatesAt,
}: EndpointStanding): string {
  if (state === 'open' || state === 'inactive' || state === 'suspended' || state === 'deleted')
    return `Ended: the endpoint is ${state}.`;
  const since = failingSince === null ? '' : ` Nothing but failures since ${failingSince}`;
  const why = lastError === null ? '' : ` (last: ${lastError})`;
  const who = heldBy === 'operator' ? ' An operator holds its host, for all tenants.' : '';
  const next = opensAt === null ? '' : ` The next delivery may go out at ${opensAt}.`;
  const end =
    deactivatesAt === null ? '' : ` Deactivated at ${deactivatesAt} unless it takes something before.`;
  return `The endpoint is ${state}.${who}${since}${why}${since === '' ? '' : '.'}${next} Deliveries that wait: ${waiting}.${end}`;
}
