// A delegation from its creation to its end. It owns the waiting only: exchanges and tokens are bound by the delegation's own time, so a
// workflow that is late changes nothing.
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
import type { DelegationExpiryActivities } from '../activities/delegation-expiry.ts';
import type { DelegationStanding } from '../src/authentication/delegations/delegation-expiry.service.ts';
import { type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import { changed, checkReason, ENTITY_ACTIVITIES, isHistoryLong, showDetails } from './entity.ts';

/** How it stands; `until` is when the workflow looks again by itself. */
export type DelegationExpiryState = Pick<DelegationStanding, 'status' | 'expiresAt'> & {
  readonly doing: 'reading' | 'waiting' | 'expiring' | 'ended';
  readonly until: string | null;
};

export type DelegationExpiryResult = Pick<DelegationStanding, 'status'>;

/** An operator revokes the delegation; the reason is kept with it, and goes into the audit log and the event. */
const revoke = defineUpdate<DelegationExpiryState, [reason?: string]>('revoke');
const state = defineQuery<DelegationExpiryState>('state');

const activities = proxyActivities<DelegationExpiryActivities>(ENTITY_ACTIVITIES);

/**
 * Sees a delegation to its end: waits until it expires, and has that written down; ends when it is revoked, or its agent deleted. Source:
 * Specification, "Anchor and delegation".
 * @param input.id of the delegation
 * @returns how it ended
 */
export async function delegationExpiry(input: EntityInput): Promise<DelegationExpiryResult> {
  const name = { tenantId: input.tenantId, id: input.id };
  let standing: DelegationStanding | undefined;
  let told = false;
  let doing: DelegationExpiryState['doing'] = 'reading';
  let until: string | null = null;
  let shown = '';

  const present = (): DelegationExpiryState => ({
    status: standing?.status ?? 'active',
    expiresAt: standing?.expiresAt ?? null,
    doing,
    until,
  });
  setHandler(changed, () => {
    told = true;
  });
  setHandler(state, present);
  setHandler(
    revoke,
    async (reason?: string) => {
      standing = await activities.revokeDelegation.executeWithOptions({ summary: 'by an operator' }, [
        name,
        reason ?? null,
      ]);
      told = true;
      return present();
    },
    {
      validator: (reason?: string) => {
        checkReason(reason);
        if (standing !== undefined && standing.status !== 'active')
          throw new Error('Only an active delegation can be revoked here.');
      },
    },
  );

  const show = (now: DelegationStanding): void => {
    showDetails(input, detailsOf(now));
    if (!input.indexed || shown === now.status) return;
    shown = now.status;
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.entityState, value: now.status }]);
  };

  for (;;) {
    doing = 'reading';
    // From here on only what is signaled later counts: the reading sees everything that was there before.
    told = false;
    let now = await activities.readDelegation.executeWithOptions({ summary: 'how the delegation stands' }, [
      name,
    ]);
    if (now.step.kind === 'expire') {
      doing = 'expiring';
      now = await activities.expireDelegation.executeWithOptions({ summary: 'its time is over' }, [name]);
    }
    standing = now;
    show(now);
    if (now.step.kind === 'wait') {
      const { delayMs } = now.step;
      doing = 'waiting';
      until = new Date(Date.now() + delayMs).toISOString();
      await condition(() => told, delayMs, { summary: 'until it expires, at most a day' });
      until = null;
    } else if (now.step.kind === 'end') {
      doing = 'ended';
      await condition(allHandlersFinished);
      if (!told) return { status: now.status };
    }
    if (isHistoryLong()) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof delegationExpiry>(input);
    }
  }
}

function detailsOf({ status, expiresAt }: DelegationStanding): string {
  if (status === 'active') return `The agent may act for the user until ${expiresAt}, unless it is revoked.`;
  return status === 'gone' ? 'Ended: there is no such delegation.' : `Ended: ${status}.`;
}
