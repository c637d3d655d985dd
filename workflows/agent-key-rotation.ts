// The actor of a key that goes: of its rotation, or of its deprecation by hand, which is a rotation begun at its second step. It owns the
// waiting only: what is due is read in Postgres each time, so a signal that comes twice, late or for nothing does no harm.
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
import type { AgentKeyRotationActivities } from '../activities/agent-key-rotation.ts';
import type { DueStep, KeyStanding } from '../src/identity/keys/rotation-steps.service.ts';
import { type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import { changed, checkReason, ENTITY_ACTIVITIES, isHistoryLong, showDetails } from './entity.ts';

/** How it stands; `until` is when the workflow looks again by itself. */
export type KeyRotationState = Pick<
  KeyStanding,
  'key' | 'rotation' | 'sunsetAt' | 'deadlineAt' | 'stalled'
> & {
  readonly doing: 'reading' | DueStep | 'waiting for the switch' | 'waiting for the sunset' | 'ended';
  readonly until: string | null;
};

export type KeyRotationResult = Pick<KeyStanding, 'key' | 'rotation'>;

/** An operator cancels the rotation; the reason goes into the audit log. */
const cancel = defineUpdate<KeyRotationState, [reason?: string]>('cancel');
const state = defineQuery<KeyRotationState>('state');

const activities = proxyActivities<AgentKeyRotationActivities>(ENTITY_ACTIVITIES);

/** What an operator reads while nothing is under way. */
const SUMMARIES = {
  switch: 'until the agent uses the new key, or its deadline',
  sunset: "until the old key's sunset",
} as const;

const WORK = {
  switch: { activity: 'deprecateOldKey', summary: 'the agent has switched: the old key gets its sunset' },
  warn: { activity: 'warnOfStalledRotation', summary: 'the deadline has passed without a switch' },
  revoke: { activity: 'revokeOldKey', summary: 'the sunset has come' },
} as const satisfies Readonly<
  Record<DueStep, { activity: keyof AgentKeyRotationActivities; summary: string }>
>;

/**
 * Sees a key off: waits until the agent uses the new one, deprecates the old one with a sunset, and revokes it then. Source:
 * Specification, "Key state".
 * @param input.id of the old key
 * @returns how the key and its latest rotation ended
 */
export async function agentKeyRotation(input: EntityInput): Promise<KeyRotationResult> {
  const key = { tenantId: input.tenantId, keyId: input.id };
  let standing: KeyStanding | undefined;
  let told = false;
  let doing: KeyRotationState['doing'] = 'reading';
  let until: string | null = null;
  let shown = '';

  const present = (): KeyRotationState => ({
    key: standing?.key ?? 'active',
    rotation: standing?.rotation ?? null,
    sunsetAt: standing?.sunsetAt ?? null,
    deadlineAt: standing?.deadlineAt ?? null,
    stalled: standing?.stalled ?? false,
    doing,
    until,
  });
  setHandler(changed, () => {
    told = true;
  });
  setHandler(state, present);
  setHandler(
    cancel,
    async (reason?: string) => {
      standing = await activities.cancelKeyRotation.executeWithOptions({ summary: 'by an operator' }, [
        key,
        reason ?? null,
      ]);
      told = true;
      return present();
    },
    {
      validator: (reason?: string) => {
        checkReason(reason);
        if (standing !== undefined && standing.rotation !== 'waiting_for_switch')
          throw new Error('Only a rotation that waits for the agent can be canceled.');
      },
    },
  );

  const perform = (step: DueStep): Promise<KeyStanding> => {
    doing = step;
    showDetails(input, `Under way: ${WORK[step].summary}.`);
    return activities[WORK[step].activity].executeWithOptions({ summary: WORK[step].summary }, [key]);
  };

  const show = (now: KeyStanding): void => {
    showDetails(input, detailsOf(now));
    const label = labelOf(now);
    if (!input.indexed || shown === label) return;
    shown = label;
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.entityState, value: label }]);
  };

  const wait = async ({
    reason,
    delayMs,
  }: {
    reason: 'switch' | 'sunset';
    delayMs: number;
  }): Promise<void> => {
    doing = `waiting for the ${reason}`;
    until = new Date(Date.now() + delayMs).toISOString();
    await condition(() => told, Math.max(1, delayMs), { summary: SUMMARIES[reason] });
    until = null;
  };

  for (;;) {
    doing = 'reading';
    // From here on only what is signaled later counts: the reading sees everything that was there before.
    told = false;
    let now = await activities.readKeyRotation.executeWithOptions({ summary: 'how the key stands' }, [key]);
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
      if (!told) return { key: now.key, rotation: now.rotation };
    }
    if (isHistoryLong()) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof agentKeyRotation>(input);
    }
  }
}

function labelOf({ key, rotation, stalled, step }: KeyStanding): string {
  if (step.kind === 'end') return key === 'active' ? (rotation ?? key) : key;
  if (stalled) return 'stalled';
  return rotation === 'waiting_for_switch' || rotation === 'overlapping' ? rotation : key;
}

function detailsOf({ key, rotation, sunsetAt, deadlineAt, stalled, step }: KeyStanding): string {
  if (step.kind !== 'wait') return `Ended: the key is ${key}; its latest rotation: ${rotation ?? 'none'}.`;
  const missing = stalled ? `, which it should have done by ${deadlineAt}` : ` (by ${deadlineAt})`;
  const agent = deadlineAt === null ? '' : ` The agent has not used the new key yet${missing}.`;
  if (step.reason === 'switch') return `Waits for the agent.${agent}`;
  return `The old key works until ${sunsetAt}, and is revoked then.${agent}`;
}
