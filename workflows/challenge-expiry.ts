// challengeExpiry marks and counts the overdue challenges at the end of one bucket of time. Without this workflow
// overdue challenges are still refused, and the next bucket's workflow marks them.
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
import type { ChallengeExpiryActivities } from '../activities/challenge-expiry.ts';
import type {
  ExpiryInput,
  SettleResult,
  SweepRequest,
} from '../src/authentication/challenges/challenge-expiry.ts';
import { SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import { ENTITY_ACTIVITIES, isHistoryLong } from './entity.ts';
import { checkReason, setDetails, wordHelp, wordTime } from './operator.ts';

/** `expired` is how many challenges the sweep has marked. `until` is when it begins without an operator's update. */
export type ChallengeExpiryState = {
  readonly bucket: string;
  readonly doing: 'waiting' | 'sweeping' | 'auditing' | 'ended';
  readonly until: string | null;
  readonly expired: number;
};

/** `audited` challenges of `tenants` tenants are counted in audit entries. */
export type ChallengeExpiryResult = {
  readonly expired: number;
  readonly audited: number;
  readonly tenants: number;
};

/** An operator's update: begins the sweep before the end of the bucket. The audit log keeps the reason. */
const sweepNow = defineUpdate<ChallengeExpiryState, [reason?: string]>('sweepNow');
const state = defineQuery<ChallengeExpiryState>('state');

const activities = proxyActivities<ChallengeExpiryActivities>({
  ...ENTITY_ACTIVITIES,
  startToCloseTimeout: '60s',
  heartbeatTimeout: '20s',
});

/**
 * Waits for the end of the bucket, marks all overdue challenges, and writes their number to the audit log. Source:
 * Specification, "Challenge".
 */
export async function challengeExpiry(input: ExpiryInput): Promise<ChallengeExpiryResult> {
  const { name, endsAt, indexed } = input;
  let doing: ChallengeExpiryState['doing'] = input.expired === undefined ? 'waiting' : 'sweeping';
  let asked: SweepRequest | undefined = input.asked;
  let expired = input.expired ?? 0;

  const present = (): ChallengeExpiryState => ({
    bucket: name,
    doing,
    until: doing === 'waiting' ? endsAt : null,
    expired,
  });
  setHandler(state, present);
  setHandler(
    sweepNow,
    (reason?: string) => {
      asked = { reason: reason ?? null };
      return present();
    },
    {
      validator: (reason?: string) => {
        checkReason(reason);
        if (doing !== 'waiting' || asked !== undefined) throw new Error('The sweep has begun already.');
      },
    },
  );

  const show = (now: ChallengeExpiryState['doing'], details: string): void => {
    setDetails(details);
    if (doing === now) return;
    doing = now;
    const isQuiet = now === 'ended' && allHandlersFinished();
    if (indexed && !isQuiet) upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.entityState, value: now }]);
  };

  const help = wordHelp({ sweepNow: 'begins now' }, 'challenge-expiry');
  setDetails(`**Waits** until ${endsAt}, and then marks the challenges that nobody used in time.\n\n${help}`);
  const delayMs = Date.parse(endsAt) - Date.now();
  if (asked === undefined && delayMs > 0)
    await condition(() => asked !== undefined, delayMs, {
      summary: `until the bucket is over ${wordTime(endsAt)}`,
    });

  for (let more = true; more; ) {
    show('sweeping', `Under way: ${expired} challenges marked as expired so far.`);
    const summary = expired === 0 ? 'what is overdue' : `after ${expired} challenges`;
    const result = await activities.sweepChallenges.executeWithOptions({ summary }, []);
    expired += result.expired;
    more = result.more;
    if (more && isHistoryLong()) {
      if (!allHandlersFinished()) await condition(allHandlersFinished);
      return continueAsNew<typeof challengeExpiry>({ ...input, expired, asked });
    }
  }

  show('auditing', `${expired} challenges marked as expired; the audit log is to be told.`);
  const settled = await activities.auditExpiredChallenges.executeWithOptions(
    { summary: 'one line of the audit log a tenant' },
    [{ name, endsAt }, asked ?? null],
  );
  show('ended', detailsOf(expired, settled));
  if (!allHandlersFinished()) await condition(allHandlersFinished);
  return { expired, audited: settled.challenges, tenants: settled.tenants };
}

function detailsOf(expired: number, { challenges, tenants }: SettleResult): string {
  return `Ended: ${expired} challenges marked as expired; the audit log tells ${tenants} tenants of ${challenges}.`;
}
