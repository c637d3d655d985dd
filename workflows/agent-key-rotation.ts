// agentKeyRotation replaces an agent's key. The deprecation of a key by hand is a rotation that begins at the second
// step.
import { defineUpdate, proxyActivities } from '@temporalio/workflow';
import type { AgentKeyRotationActivities } from '../activities/agent-key-rotation.ts';
import type { DueStep, KeyStanding } from '../src/identity/keys/rotation-steps.service.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import { ENTITY_ACTIVITIES, entityWorkflow, forReason } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the key without a signal. */
export type KeyRotationState = Pick<
  KeyStanding,
  'key' | 'rotation' | 'sunsetAt' | 'deadlineAt' | 'stalled'
> & {
  readonly doing: 'reading' | DueStep | 'waiting for the switch' | 'waiting for the sunset' | 'ended';
  readonly until: string | null;
};

export type KeyRotationResult = Pick<KeyStanding, 'key' | 'rotation'>;

/** An operator's update: cancels the rotation. The audit log keeps the reason. */
const cancel = defineUpdate<KeyRotationState, [reason?: string]>('cancel');

const activities = proxyActivities<AgentKeyRotationActivities>(ENTITY_ACTIVITIES);

const STEPS = {
  switch: {
    doing: 'switch',
    activity: activities.deprecateOldKey,
    summary: 'the agent has switched: the old key gets its sunset',
  },
  warn: {
    doing: 'warn',
    activity: activities.warnOfStalledRotation,
    summary: 'the deadline has passed without a switch',
  },
  revoke: { doing: 'revoke', activity: activities.revokeOldKey, summary: 'the sunset has come' },
} as const;

/**
 * Waits until the agent uses its new key, deprecates the old key with a sunset, and revokes it at the sunset. Source:
 * Specification, "Key state".
 * @param input.id id of the old key
 * @returns the final state of the key and of its latest rotation
 */
export function agentKeyRotation(input: EntityInput): Promise<KeyRotationResult> {
  const name = { tenantId: input.tenantId, keyId: input.id };
  return entityWorkflow<typeof name, KeyStanding, KeyRotationState, KeyRotationResult>(input, {
    name,
    read: { activity: activities.readKeyRotation, summary: 'how the key stands' },
    steps: STEPS,
    wait: ({ reason, delayMs }, now) => ({
      doing: `waiting for the ${reason}`,
      delayMs,
      summary: summaryOf(reason, now),
    }),
    state: { key: 'active', rotation: null, sunsetAt: null, deadlineAt: null, stalled: false },
    help: wordHelp({ cancel: 'ends the rotation, and both keys stay' }, 'agent-key-rotation'),
    details: detailsOf,
    attributes: (now) => ({ entityState: labelOf(now) }),
    updates: (on) =>
      on(
        cancel,
        forReason(name, activities.cancelKeyRotation, (standing: KeyStanding | undefined) => {
          if (standing !== undefined && standing.rotation !== 'waiting_for_switch')
            throw new Error('Only a rotation that waits for the agent can be canceled.');
        }),
      ),
    result: ({ key, rotation }) => ({ key, rotation }),
  });
}

function summaryOf(reason: 'switch' | 'sunset', { sunsetAt, deadlineAt, stalled }: KeyStanding): string {
  if (reason === 'sunset')
    return `until the old key's sunset${sunsetAt === null ? '' : ` ${wordTime(sunsetAt)}`}`;
  if (deadlineAt === null) return 'until the agent uses the new key';
  return stalled
    ? `until the agent uses the new key · overdue since ${wordTime(deadlineAt)}`
    : `until the agent uses the new key · deadline ${wordTime(deadlineAt)}`;
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
