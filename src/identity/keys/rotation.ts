// Rules of key rotations: how a change of a key changes its rotation, and which step is due next. The caller passes the
// time.
import type { KeyLife, KeyState } from './key.ts';
import type { RotationRow } from './rotation.model.ts';

/**
 * `waiting_for_switch`: the agent has not yet authenticated with the new key. `overlapping`: both keys work, and the
 * old key has a sunset. The other states are final. `completed`: the old key is revoked. `canceled`: a person canceled
 * the rotation. `aborted`: the new key was deprecated or revoked.
 */
export const ROTATION_STATES = [
  'waiting_for_switch',
  'overlapping',
  'completed',
  'canceled',
  'aborted',
] as const;
export type RotationState = (typeof ROTATION_STATES)[number];

export const END_REASONS = [
  'sunset_reached',
  'old_key_revoked',
  'canceled',
  'new_key_revoked',
  'new_key_deprecated',
] as const;
export type EndReason = (typeof END_REASONS)[number];

export type KeyRotation = RotationRow & Pick<KeyLife, 'sunsetAt'>;

/** Default time limits in seconds: 7 days each. */
export const ROTATION_DEFAULTS = { overlapSeconds: 604_800, deadlineSeconds: 604_800 } as const;

/** Longest sleep of the workflow in milliseconds. Then it reads the key again, in case a signal was lost. */
const LONGEST_WAIT_MS = 86_400_000;

export function isOpen(state: RotationState): boolean {
  return state === 'waiting_for_switch' || state === 'overlapping';
}

/** With an active old key, the rotation waits for the agent. A deprecated old key already has its sunset. */
export function initialState(oldKey: KeyState): 'waiting_for_switch' | 'overlapping' {
  return oldKey === 'deprecated' ? 'overlapping' : 'waiting_for_switch';
}

/** A change of one of a rotation's two keys. `expired` means that the key was revoked at its sunset. */
export type KeyChange = 'deprecated' | 'revoked' | 'expired';

export type Transition =
  | { readonly state: 'overlapping' }
  | { readonly state: 'completed' | 'aborted'; readonly endReason: EndReason };

/** Returns the state of an open rotation after a change of one of its keys, or null when the state does not change. */
export function afterKeyChange(
  state: RotationState,
  key: 'old' | 'new',
  change: KeyChange,
): Transition | null {
  if (!isOpen(state)) return null;
  if (key === 'old') {
    if (change === 'deprecated') return state === 'waiting_for_switch' ? { state: 'overlapping' } : null;
    return { state: 'completed', endReason: change === 'expired' ? 'sunset_reached' : 'old_key_revoked' };
  }
  if (change !== 'deprecated') return { state: 'aborted', endReason: 'new_key_revoked' };
  // Before the switch, the rotation would move the agent to a key that ends soon, so it is aborted. After the switch,
  // the new key may already be the old key of the next rotation.
  return state === 'waiting_for_switch' ? { state: 'aborted', endReason: 'new_key_deprecated' } : null;
}

/** Facts that decide the next step. `rotation` is the key's open rotation, or null. */
export type RotationFacts = {
  readonly now: Date;
  /** The old key; null when it does not exist. */
  readonly key: KeyLife | null;
  readonly rotation:
    | (Pick<RotationRow, 'state' | 'deadlineAt' | 'switchedAt' | 'stalledAt'> & {
        readonly newKeyFirstUsedAt: Date | null;
      })
    | null;
};

/**
 * Next step of an old key, with or without a rotation. `switch`: the agent has used the new key, so the old key gets
 * its sunset. `warn`: the deadline has passed without a switch. `revoke`: the sunset is reached. `wait`: sleep for
 * `delayMs`, or until the key changes. `end`: the workflow is done.
 */
export type RotationStep =
  | { readonly kind: 'switch' | 'warn' | 'revoke' | 'end' }
  | { readonly kind: 'wait'; readonly reason: 'switch' | 'sunset'; readonly delayMs: number };

/** Decides the next step. A step that is due is returned before any wait. */
export function decideStep({ now, key, rotation }: RotationFacts): RotationStep {
  if (key === null || key.state === 'revoked') return { kind: 'end' };
  const left = (until: Date) => until.getTime() - now.getTime();
  const sunset = key.state === 'deprecated' ? key.sunsetAt : null;
  if (sunset !== null && left(sunset) <= 0) return { kind: 'revoke' };
  const waits = rotation !== null && isOpen(rotation.state) && rotation.switchedAt === null;
  if (waits && rotation.newKeyFirstUsedAt !== null) return { kind: 'switch' };
  const deadline = waits && rotation.stalledAt === null ? rotation.deadlineAt : null;
  if (deadline !== null && left(deadline) <= 0) return { kind: 'warn' };
  if (sunset === null && !waits) return { kind: 'end' };
  const times = [sunset, deadline].flatMap((time) => (time === null ? [] : [left(time)]));
  const delayMs = Math.min(LONGEST_WAIT_MS, ...times);
  return { kind: 'wait', reason: sunset === null ? 'switch' : 'sunset', delayMs };
}

/** Returns the end of the overlap after the new key's first use, but at least one second after `now`. */
export function sunsetAfterSwitch(firstUsedAt: Date, overlapSeconds: number, now: Date): Date {
  return new Date(Math.max(firstUsedAt.getTime() + overlapSeconds * 1000, now.getTime() + 1000));
}
