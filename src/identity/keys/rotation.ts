// The life of a key rotation: what each happening makes of it, and what is due next. It must never look at a clock itself.
import type { KeyState } from './key.ts';
import type { RotationRow } from './rotation.model.ts';

/**
 * `waiting_for_switch`: the agent still has to authenticate with the new key. `overlapping`: both keys work, and the old one has a
 * sunset. The other three are ends: `completed` with the old key revoked, `canceled` by hand, `aborted` because the new key is gone.
 */
export const ROTATION_STATES = [
  'waiting_for_switch',
  'overlapping',
  'completed',
  'canceled',
  'aborted',
] as const;
export type RotationState = (typeof ROTATION_STATES)[number];

/** Why a rotation has ended. */
export const END_REASONS = [
  'sunset_reached',
  'old_key_revoked',
  'canceled',
  'new_key_revoked',
  'new_key_deprecated',
] as const;
export type EndReason = (typeof END_REASONS)[number];

export type KeyRotation = RotationRow & {
  /** The old key's. */
  readonly sunsetAt: Date | null;
};

/** Seconds, unless the request says otherwise: 7 days each. */
export const ROTATION_DEFAULTS = { overlapSeconds: 604_800, deadlineSeconds: 604_800 } as const;

/** Nobody signals this long: then the workflow looks by itself whether it has missed something. */
const LONGEST_WAIT_MS = 86_400_000;

/** Whether the rotation has not ended. */
export function isOpen(state: RotationState): boolean {
  return state === 'waiting_for_switch' || state === 'overlapping';
}

/** A rotation of an active key waits for the agent; a deprecated key has its sunset already. */
export function initialState(oldKey: KeyState): 'waiting_for_switch' | 'overlapping' {
  return oldKey === 'deprecated' ? 'overlapping' : 'waiting_for_switch';
}

/** What happened to one of a rotation's two keys; `expired` is its revocation at its sunset. */
export type KeyChange = 'deprecated' | 'revoked' | 'expired';

export type Transition =
  | { readonly state: 'overlapping' }
  | { readonly state: 'completed' | 'aborted'; readonly endReason: EndReason };

/**
 * What a change of one of its keys makes of an open rotation, whoever made the change.
 * @returns the next state, or null when the rotation stays as it is
 */
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
  // While the agent has not switched, it would be sent to a key that is on its way out; later the next rotation may have begun.
  return state === 'waiting_for_switch' ? { state: 'aborted', endReason: 'new_key_deprecated' } : null;
}

/** Everything that decides what is due. `rotation` is the open one of the key, if there is one. */
export type RotationFacts = {
  readonly now: Date;
  /** The key that goes; null when it is gone with its agent. */
  readonly key: { readonly state: KeyState; readonly sunsetAt: Date | null } | null;
  readonly rotation: {
    readonly state: RotationState;
    readonly deadlineAt: Date;
    readonly switchedAt: Date | null;
    readonly stalledAt: Date | null;
    readonly newKeyFirstUsedAt: Date | null;
  } | null;
};

/**
 * What is due for a key that goes, with or without a rotation. `switch`: the agent has used the new key, so the old one gets its
 * sunset. `warn`: the deadline has passed without a switch. `revoke`: the sunset has come. `wait`: nothing until then, or until
 * something changes. `end`: nothing any more.
 */
export type RotationStep =
  | { readonly kind: 'switch' | 'warn' | 'revoke' | 'end' }
  | { readonly kind: 'wait'; readonly reason: 'switch' | 'sunset'; readonly delayMs: number };

/** The next step. What is due is never put off by something later. */
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

/**
 * The sunset that a switch gives the old key: the overlap after the new key's first use, and at least a second from `now` for a
 * switch that is noticed late.
 */
export function sunsetAfterSwitch(firstUsedAt: Date, overlapSeconds: number, now: Date): Date {
  return new Date(Math.max(firstUsedAt.getTime() + overlapSeconds * 1000, now.getTime() + 1000));
}
