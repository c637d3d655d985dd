// The actor of a tenant's issuer keys, for as long as there is the tenant. It owns the waiting only: what is due is read in Postgres each time,
// where also the moments stand at which a key begins and ceases to sign, so that no token ever waits for it.
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
import type { IssuerKeyRotationActivities } from '../activities/issuer-key-rotation.ts';
import type { IssuerStanding } from '../src/authentication/issuer/issuer-rotation.service.ts';
import type { DueStep, ScheduleStep } from '../src/authentication/issuer/key-schedule.ts';
import { type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import { changed, checkReason, ENTITY_ACTIVITIES, isHistoryLong, showDetails } from './entity.ts';

type Waiting = Extract<ScheduleStep, { kind: 'wait' }>;

/** How it stands; `until` is when the workflow looks again by itself. */
export type IssuerKeysState = Omit<IssuerStanding, 'step'> & {
  readonly doing: 'reading' | DueStep | 'waiting' | 'ended';
  readonly until: string | null;
};

/** `gone`: there is no such tenant any more. */
export type IssuerKeysResult = { readonly state: 'gone' };

/** An operator lets the next key sign as soon as verifiers can know it; the reason goes into the audit log. */
const rotate = defineUpdate<IssuerKeysState, [reason?: string]>('rotate');
/** An operator revokes a key at once, with all that it has signed; the reason goes into the audit log. */
const revoke = defineUpdate<IssuerKeysState, [kid: string, reason: string]>('revoke');
const state = defineQuery<IssuerKeysState>('state');

const activities = proxyActivities<IssuerKeyRotationActivities>(ENTITY_ACTIVITIES);

/** RFC 7638 thumbprint, SHA-256 in base64url. */
const KID = /^[A-Za-z0-9_-]{43}$/;

/** What an operator reads while nothing is under way. */
const SUMMARIES: Readonly<Record<Waiting['reason'], string>> = {
  activation: 'until the next key signs',
  retirement: 'until every process signs with the new key',
  removal: 'until nothing lives that an old key signed',
};

const WORK = {
  publish: { activity: 'publishNextIssuerKey', summary: 'there is no next key: publishes one' },
  retire: { activity: 'retireIssuerKey', summary: 'another key signs: destroys the old private key' },
  remove: { activity: 'removeIssuerKey', summary: 'nothing lives that an old key signed: removes it' },
} as const satisfies Readonly<
  Record<DueStep, { activity: keyof IssuerKeyRotationActivities; summary: string }>
>;

/**
 * Keeps a tenant's issuer keys rotating: publishes the next one, retires the one that it takes over from, removes it, for ever. Source:
 * RFC 7517; Specification, "Agent access token claims".
 * @param input.id of the tenant
 */
export async function issuerKeyRotation(input: EntityInput): Promise<IssuerKeysResult> {
  const name = { tenantId: input.tenantId };
  let standing: IssuerStanding | undefined;
  let told = false;
  let doing: IssuerKeysState['doing'] = 'reading';
  let until: string | null = null;
  let shown = '';

  const present = (): IssuerKeysState => ({
    state: standing?.state ?? 'unprepared',
    signing: standing?.signing ?? null,
    next: standing?.next ?? null,
    retired: standing?.retired ?? null,
    revoked: standing?.revoked ?? [],
    doing,
    until,
  });
  /** What an operator has changed is looked at by the loop as well. */
  const changedTo = (now: IssuerStanding): IssuerKeysState => {
    standing = now;
    told = true;
    return present();
  };
  setHandler(changed, () => {
    told = true;
  });
  setHandler(state, present);
  setHandler(
    rotate,
    async (reason?: string) =>
      changedTo(
        await activities.rotateIssuerKeys.executeWithOptions({ summary: 'by an operator' }, [
          name,
          reason ?? null,
        ]),
      ),
    { validator: checkReason },
  );
  setHandler(
    revoke,
    async (kid: string, reason: string) =>
      changedTo(
        await activities.revokeIssuerKey.executeWithOptions({ summary: `${kid}, by an operator` }, [
          name,
          kid,
          reason,
        ]),
      ),
    {
      validator: (kid: string, reason: string) => {
        if (typeof kid !== 'string' || !KID.test(kid)) throw new Error('The first input must be a kid.');
        if (reason === undefined || reason === '') throw new Error('The second input must be a reason.');
        checkReason(reason);
      },
    },
  );

  const perform = (step: DueStep): Promise<IssuerStanding> => {
    doing = step;
    showDetails(input, `Under way: ${WORK[step].summary}.`);
    return activities[WORK[step].activity].executeWithOptions({ summary: WORK[step].summary }, [name]);
  };

  const show = (now: IssuerStanding): void => {
    showDetails(input, detailsOf(now));
    if (!input.indexed || shown === now.state) return;
    shown = now.state;
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.entityState, value: now.state }]);
  };

  const wait = async ({ reason, delayMs }: Waiting): Promise<void> => {
    doing = 'waiting';
    until = new Date(Date.now() + delayMs).toISOString();
    await condition(() => told, Math.max(1, delayMs), { summary: SUMMARIES[reason] });
    until = null;
  };

  for (;;) {
    doing = 'reading';
    // From here on only what is signaled later counts: the reading sees everything that was there before.
    told = false;
    let now = await activities.readIssuerKeys.executeWithOptions({ summary: 'how the keys stand' }, [name]);
    standing = now;
    while (now.step.kind !== 'wait' && now.step.kind !== 'end') {
      now = await perform(now.step.kind);
      standing = now;
    }
    show(now);
    if (now.step.kind === 'wait') await wait(now.step);
    else {
      doing = 'ended';
      await condition(allHandlersFinished);
      if (!told) return { state: 'gone' };
    }
    if (isHistoryLong()) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof issuerKeyRotation>(input);
    }
  }
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
