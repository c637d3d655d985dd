// issuerKeyRotation rotates a tenant's issuer keys as long as the tenant exists. Postgres stores the times at which a
// key begins and ends to sign, so no token waits for this workflow.
import { defineUpdate, proxyActivities } from '@temporalio/workflow';
import type { IssuerKeyRotationActivities } from '../activities/issuer-key-rotation.ts';
import type { IssuerStanding } from '../src/authentication/issuer/issuer-rotation.service.ts';
import type { DueStep } from '../src/authentication/issuer/key-schedule.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import { ENTITY_ACTIVITIES, entityWorkflow, forReason } from './entity.ts';
import { checkReason, wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the keys without a signal. */
export type IssuerKeysState = Omit<IssuerStanding, 'step'> & {
  readonly doing: 'reading' | DueStep | 'waiting' | 'ended';
  readonly until: string | null;
};

/** `gone`: the tenant no longer exists. */
export type IssuerKeysResult = { readonly state: 'gone' };

/** An operator's update: the next key signs as soon as verifiers can know it. The audit log keeps the reason. */
const rotate = defineUpdate<IssuerKeysState, [reason?: string]>('rotate');
/** An operator's update: revokes a key and all tokens that it has signed. The audit log keeps the reason. */
const revoke = defineUpdate<IssuerKeysState, [kid: string, reason: string]>('revoke');

const activities = proxyActivities<IssuerKeyRotationActivities>(ENTITY_ACTIVITIES);

/** RFC 7638 thumbprint, SHA-256 in base64url. */
const KID = /^[A-Za-z0-9_-]{43}$/;

const SUMMARIES = {
  activation: 'until the next key signs',
  retirement: 'until every process signs with the new key',
  removal: 'until nothing lives that an old key signed',
} as const;

const STEPS = {
  publish: {
    doing: 'publish',
    activity: activities.publishNextIssuerKey,
    summary: 'there is no next key: publishes one',
  },
  retire: {
    doing: 'retire',
    activity: activities.retireIssuerKey,
    summary: 'another key signs: destroys the old private key',
  },
  remove: {
    doing: 'remove',
    activity: activities.removeIssuerKey,
    summary: 'nothing lives that an old key signed: removes it',
  },
} as const;

/**
 * Publishes the tenant's next issuer key, retires the key that it replaces, and removes the retired key later, without
 * end. Source: RFC 7517; Specification, "Agent access token claims".
 * @param input.id id of the tenant
 */
export function issuerKeyRotation(input: EntityInput): Promise<IssuerKeysResult> {
  const name = { tenantId: input.tenantId };
  return entityWorkflow<typeof name, IssuerStanding, IssuerKeysState, IssuerKeysResult>(input, {
    name,
    read: { activity: activities.readIssuerKeys, summary: 'how the keys stand' },
    steps: STEPS,
    wait: ({ reason, delayMs }, now) => ({ doing: 'waiting', delayMs, summary: summaryOf(reason, now) }),
    state: { state: 'unprepared', signing: null, next: null, retired: null, revoked: [] },
    help: wordHelp(
      { rotate: 'lets the next key sign soon', revoke: 'ends a key and its tokens' },
      'issuer-key-rotation',
    ),
    details: detailsOf,
    attributes: (now) => ({ entityState: now.state }),
    updates: (on) => {
      on(rotate, forReason(name, activities.rotateIssuerKeys));
      on(revoke, {
        perform: (kid, reason) =>
          activities.revokeIssuerKey.executeWithOptions({ summary: `${kid}, by an operator` }, [
            name,
            kid,
            reason,
          ]),
        refuse: (_, kid, reason) => {
          if (typeof kid !== 'string' || !KID.test(kid)) throw new Error('The first input must be a kid.');
          if (reason === undefined || reason === '') throw new Error('The second input must be a reason.');
          checkReason(reason);
        },
      });
    },
    result: () => ({ state: 'gone' }),
  });
}

function summaryOf(reason: keyof typeof SUMMARIES, { next, retired }: IssuerStanding): string {
  const time = { activation: next?.from, retirement: undefined, removal: retired?.until }[reason];
  return time === undefined ? SUMMARIES[reason] : `${SUMMARIES[reason]} ${wordTime(time)}`;
}

function detailsOf({ state, signing, next, retired, revoked }: IssuerStanding): string {
  if (state === 'gone') return 'Ended: there is no such tenant.';
  const present = signing === null ? 'No key signs.' : `Key ${signing.kid} signs since ${signing.since}.`;
  const coming =
    next === null
      ? 'No next key is published.'
      : `Key ${next.kid} is published, and signs from ${next.from}.`;
  const old =
    retired === null
      ? ''
      : ` What ${retired.count === 1 ? 'an old key' : `${retired.count} old keys`} signed verifies until ${retired.until}.`;
  const ended = revoked.length === 0 ? '' : ` Revoked: ${revoked.join(', ')}.`;
  return `${present} ${coming}${old}${ended}`;
}
