// The life of issuer keys: published, active, retired, removed, or revoked at any time. Every change is stored long
// before it comes, so that verifiers and other processes know it in time. Reads no clock.
import type { SigningAlgorithm } from '../../platform/context.ts';

/**
 * Seconds for which a new key is published before it signs: longer than the 300 s for which JWKS answers may be cached,
 * and the clocks' differences.
 */
export const PUBLISHED_AHEAD_SECONDS = 600;

/**
 * Seconds for which a key is published after it has stopped signing: a day, the longest that any setting lets an access
 * token live, and ten minutes for the clocks' differences and for lists of keys that are a moment old.
 */
export const PUBLISHED_AFTER_SECONDS = 87_000;

/**
 * Seconds after which a retired key's private half is destroyed: by then every process has read that another key signs.
 */
const DESTROYED_AFTER_SECONDS = 60;

/**
 * Seconds: a key that is to sign so soon counts as one that signs. A transaction may commit that much later than it has
 * decided, and a key that has signed must not be dropped.
 */
const IMMINENT_SECONDS = 60;

/** After so long without a signal the workflow reads the keys by itself, in case it has missed one. */
const LONGEST_WAIT_MS = 86_400_000;

/**
 * `published`: will sign. `active`: signs. `retired`: has signed, and what it signed still verifies. `revoked`: nothing
 * verifies.
 */
export const ISSUER_KEY_STATES = ['published', 'active', 'retired', 'revoked'] as const;
export type IssuerKeyState = (typeof ISSUER_KEY_STATES)[number];

/**
 * A key on its tenant's schedule. `retireAt`, `removeAt`: null while no later key is published. `sealed`: its private
 * half is there.
 */
export type ScheduledKey = {
  readonly id: string;
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly publishedAt: Date;
  readonly activateAt: Date;
  readonly retireAt: Date | null;
  readonly removeAt: Date | null;
  readonly revokedAt: Date | null;
  readonly sealed: boolean;
};

/** A tenant's keys at a moment of the database's clock; `algorithm` is what the tenant wants signed with. */
export type Schedule = {
  readonly now: Date;
  readonly algorithm: SigningAlgorithm;
  readonly keys: readonly ScheduledKey[];
};

export const after = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1000);

const latest = (...times: readonly Date[]): Date =>
  new Date(Math.max(...times.map((time) => time.getTime())));

/**
 * By activation, the earliest first; of two at the same time the one that signs, which is the one with the lesser kid,
 * comes last.
 */
const byActivation = (a: ScheduledKey, b: ScheduledKey): number =>
  a.activateAt.getTime() - b.activateAt.getTime() || (a.kid < b.kid ? 1 : -1);

const livingOf = (keys: readonly ScheduledKey[]): ScheduledKey[] =>
  keys.filter(({ revokedAt }) => revokedAt === null).sort(byActivation);

/** The key that signs; undefined when every key is revoked, to come, or destroyed. */
export function signingKeyOf({ keys, now }: Pick<Schedule, 'keys' | 'now'>): ScheduledKey | undefined {
  return livingOf(keys).findLast(({ activateAt, sealed }) => sealed && activateAt <= now);
}

/** The key that will sign next. */
export function nextKeyOf({ keys, now }: Pick<Schedule, 'keys' | 'now'>): ScheduledKey | undefined {
  return livingOf(keys).find(({ activateAt }) => activateAt > now);
}

export function stateOf(key: ScheduledKey, schedule: Pick<Schedule, 'keys' | 'now'>): IssuerKeyState {
  if (key.revokedAt !== null) return 'revoked';
  if (key.activateAt > schedule.now) return 'published';
  return signingKeyOf(schedule)?.kid === key.kid ? 'active' : 'retired';
}

/**
 * When a key that is published now begins to sign: once the present one has signed for its lifetime, and never before
 * verifiers can know it, unless nothing signs at all.
 * @param lifetime seconds for which a key signs
 */
export function planActivation({ keys, now }: Pick<Schedule, 'keys' | 'now'>, lifetime: number): Date {
  const signing = signingKeyOf({ keys, now });
  if (signing === undefined) return now;
  return latest(after(now, PUBLISHED_AHEAD_SECONDS), after(signing.activateAt, lifetime));
}

/** What makes another key sign. `promote` moves the activation of one that is published already. */
export type Succession =
  | { readonly kind: 'promote'; readonly kid: string; readonly activateAt: Date }
  | { readonly kind: 'publish'; readonly activateAt: Date };

/**
 * How the keys rotate as soon as verifiers allow it: immediately when the next key has been published for long enough.
 * Rotations that are asked for within ten minutes of one another are one rotation.
 * @returns null when that has been done already
 */
export function planRotation({ keys, now }: Pick<Schedule, 'keys' | 'now'>): Succession | null {
  const recent = livingOf(keys).some(
    ({ retireAt }) => retireAt !== null && retireAt <= now && after(retireAt, PUBLISHED_AHEAD_SECONDS) > now,
  );
  if (recent) return null;
  const next = nextKeyOf({ keys, now });
  if (next === undefined) return { kind: 'publish', activateAt: after(now, PUBLISHED_AHEAD_SECONDS) };
  const activateAt = latest(now, after(next.publishedAt, PUBLISHED_AHEAD_SECONDS));
  return activateAt < next.activateAt ? { kind: 'promote', kid: next.kid, activateAt } : null;
}

/**
 * Which key signs from now on when this one is revoked: the next one, however short it has been published, else a new
 * one.
 * @returns null when the key does not sign anyway
 */
export function planRevocation(
  { keys, now }: Pick<Schedule, 'keys' | 'now'>,
  kid: string,
): Succession | null {
  if (signingKeyOf({ keys, now })?.kid !== kid) return null;
  const next = nextKeyOf({ keys, now });
  return next === undefined
    ? { kind: 'publish', activateAt: now }
    : { kind: 'promote', kid: next.kid, activateAt: now };
}

/**
 * What a change of the tenant's algorithm asks for: keys of other algorithms that have not signed go, and a new one is
 * published unless the key that would then sign last has the algorithm.
 */
export function planAlgorithm(
  { keys, now }: Pick<Schedule, 'keys' | 'now'>,
  algorithm: SigningAlgorithm,
): { readonly drop: readonly string[]; readonly publishAt: Date | null } {
  const isDropped = (key: ScheduledKey) =>
    key.algorithm !== algorithm && key.revokedAt === null && key.activateAt > after(now, IMMINENT_SECONDS);
  const last = livingOf(keys)
    .filter((key) => !isDropped(key))
    .at(-1);
  return {
    drop: keys.filter(isDropped).map(({ kid }) => kid),
    publishAt: last?.algorithm === algorithm ? null : after(now, PUBLISHED_AHEAD_SECONDS),
  };
}

export type KeyTimes = Pick<ScheduledKey, 'kid' | 'retireAt' | 'removeAt'>;

/**
 * The times that follow from the activations: each key retires when the next one begins to sign.
 * @returns those that change
 */
export function arrange({ keys, now }: Pick<Schedule, 'keys' | 'now'>): KeyTimes[] {
  const living = livingOf(keys);
  return living.flatMap((key, index) => {
    if (key.retireAt !== null && key.retireAt <= now) return [];
    const retireAt = living[index + 1]?.activateAt ?? null;
    if (retireAt?.getTime() === key.retireAt?.getTime()) return [];
    const removeAt = retireAt === null ? null : after(retireAt, PUBLISHED_AFTER_SECONDS);
    return [{ kid: key.kid, retireAt, removeAt }];
  });
}

/** Keys whose private half is to be destroyed: retired for a minute, with another one that signs. */
export function keysToRetire(schedule: Pick<Schedule, 'keys' | 'now'>): ScheduledKey[] {
  if (signingKeyOf(schedule) === undefined) return [];
  return schedule.keys.filter((key) => {
    const { sealed, retireAt } = key;
    if (!sealed || retireAt === null || after(retireAt, DESTROYED_AFTER_SECONDS) > schedule.now) return false;
    return stateOf(key, schedule) === 'retired';
  });
}

/** Keys that no living token was signed by. */
export function keysToRemove(schedule: Pick<Schedule, 'keys' | 'now'>): ScheduledKey[] {
  const isOver = ({ removeAt }: ScheduledKey) => removeAt !== null && removeAt <= schedule.now;
  return schedule.keys.filter(
    (key) => isOver(key) && ['retired', 'revoked'].includes(stateOf(key, schedule)),
  );
}

/** What can be due. `publish`: there is no next key, or, after a mishap, none that signs. */
export type DueStep = 'publish' | 'retire' | 'remove';

export type ScheduleStep =
  | { readonly kind: DueStep | 'end' }
  | {
      readonly kind: 'wait';
      readonly reason: 'activation' | 'retirement' | 'removal';
      readonly delayMs: number;
    };

/** The next step of a tenant's keys, for ever. */
export function decideStep(schedule: Schedule): ScheduleStep {
  const next = nextKeyOf(schedule);
  if (next === undefined || signingKeyOf(schedule) === undefined) return { kind: 'publish' };
  if (keysToRetire(schedule).length > 0) return { kind: 'retire' };
  if (keysToRemove(schedule).length > 0) return { kind: 'remove' };
  const waits = [
    { reason: 'activation', at: next.activateAt } as const,
    ...schedule.keys.flatMap(({ sealed, activateAt, retireAt, removeAt }) => [
      ...(sealed && retireAt !== null && activateAt <= schedule.now
        ? [{ reason: 'retirement', at: after(retireAt, DESTROYED_AFTER_SECONDS) } as const]
        : []),
      ...(removeAt === null ? [] : [{ reason: 'removal', at: removeAt } as const]),
    ]),
  ].sort((a, b) => a.at.getTime() - b.at.getTime());
  const { reason, at } = waits.find((wait) => wait.at > schedule.now) ?? {
    reason: 'activation',
    at: next.activateAt,
  };
  return { kind: 'wait', reason, delayMs: Math.min(LONGEST_WAIT_MS, at.getTime() - schedule.now.getTime()) };
}

/**
 * Where a tenant's keys stand, for operators. `revoked`: one was revoked, and may have signed tokens that would still
 * live. `rotating`: the next key signs within ten minutes, or what an old one signed still verifies. `unprepared`:
 * there is no next key.
 */
export type ScheduleState = 'steady' | 'rotating' | 'unprepared' | 'revoked';

export function describeState(schedule: Schedule): ScheduleState {
  const states = schedule.keys.map((key) => stateOf(key, schedule));
  if (states.includes('revoked')) return 'revoked';
  const next = nextKeyOf(schedule);
  if (next === undefined) return 'unprepared';
  const isSoon = next.activateAt <= after(schedule.now, PUBLISHED_AHEAD_SECONDS);
  return isSoon || states.includes('retired') ? 'rotating' : 'steady';
}
