// delegationExpiry records when a delegation expires. Token exchanges check the delegation's time without this
// workflow.
import { defineUpdate, proxyActivities } from '@temporalio/workflow';
import type { DelegationExpiryActivities } from '../activities/delegation-expiry.ts';
import type { DelegationStanding } from '../src/authentication/delegations/delegation-expiry.service.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import { ENTITY_ACTIVITIES, entityWorkflow, forReason } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the delegation without a signal. */
export type DelegationExpiryState = Pick<DelegationStanding, 'status' | 'expiresAt'> & {
  readonly doing: 'reading' | 'waiting' | 'expiring' | 'ended';
  readonly until: string | null;
};

export type DelegationExpiryResult = Pick<DelegationStanding, 'status'>;

/** An operator's update: revokes the delegation. The delegation, the audit log and the event keep the reason. */
const revoke = defineUpdate<DelegationExpiryState, [reason?: string]>('revoke');

const activities = proxyActivities<DelegationExpiryActivities>(ENTITY_ACTIVITIES);

/**
 * Waits until a delegation expires, and records the expiry. Ends when the delegation is revoked or its agent is
 * deleted. Source: Specification, "Anchor and delegation".
 * @param input.id id of the delegation
 */
export function delegationExpiry(input: EntityInput): Promise<DelegationExpiryResult> {
  const name = { tenantId: input.tenantId, id: input.id };
  return entityWorkflow<typeof name, DelegationStanding, DelegationExpiryState, DelegationExpiryResult>(
    input,
    {
      name,
      read: { activity: activities.readDelegation, summary: 'how the delegation stands' },
      steps: {
        expire: { doing: 'expiring', activity: activities.expireDelegation, summary: 'its time is over' },
      },
      wait: ({ delayMs }, { expiresAt }) => ({
        doing: 'waiting',
        delayMs,
        summary: `until it expires${expiresAt === null ? '' : ` ${wordTime(expiresAt)}`}, at most a day`,
      }),
      state: { status: 'active', expiresAt: null },
      help: wordHelp({ revoke: 'ends the delegation now' }, 'delegation-expiry'),
      details: detailsOf,
      attributes: ({ status }) => ({ entityState: status }),
      updates: (on) =>
        on(
          revoke,
          forReason(name, activities.revokeDelegation, (standing: DelegationStanding | undefined) => {
            if (standing !== undefined && standing.status !== 'active')
              throw new Error('Only an active delegation can be revoked here.');
          }),
        ),
      result: ({ status }) => ({ status }),
    },
  );
}

function detailsOf({ status, expiresAt }: DelegationStanding): string {
  if (status === 'active') return `The agent may act for the user until ${expiresAt}, unless it is revoked.`;
  return status === 'gone' ? 'Ended: there is no such delegation.' : `Ended: ${status}.`;
}
