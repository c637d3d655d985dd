// The life of issuer keys: published, active, retired, removed, or revoked at any time. Each change is stored long
// before its time, so that verifiers and other processes read it early enough. Pure: the time is a parameter.
import type { SigningAlgorithm } from '../../platform/context.ts';

/**
 * Seconds for which a new key is published before it signs: longer than the 300 s for which JWKS answers may be cached
 * and the difference of clocks.
 */
export const PUBLISHED_AHEAD_SECONDS = 600;

/**
 * Seconds for which a key is published after it has stopped signing: a day, the longest life of an access token in any
 * setting, and ten minutes for the difference of clocks and for older lists of keys.
 */
export const PUBLISHED_AFTER_SECONDS = 87_000;

/**
 * Seconds after which a retired key's private half is destroyed: by then each process has read that another key signs.
 */
const DESTROYED_AFTER_SECONDS = 60;

/**
 * Seconds: a key that will sign within this time counts as signing. A transaction may commit this much later than its
 * decision, and a key that has signed must stay published.
 */
const IMMINENT_SECONDS = 60;

/** The wait without a signal after which the workflow reads the keys again, in case a signal was lost. */
const LONGEST_WAIT_MS = 86_400_000;

/**
 * `published`: will sign. `active`: signs. `retired`: signs no more, but its tokens verify. `revoked`: its tokens do
 * not verify.
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

/** A tenant's keys at a time of the database's clock; `algorithm` is the tenant's present choice. */
export type Schedule = {
  readonly now: Date;
  readonly algorithm: SigningAlgorithm;
  readonly keys: readonly ScheduledKey[];
};

export const after = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1000);

const latest = (...times: readonly Date[]): Date =>
  new Date(Math.max(...times.map((time) => time.getTime())));

/**
 * By activation, the earliest first. Of two keys with the same time the one that signs comes last; it is the one with
 * the lesser kid.
 */
const byActivation = (a: ScheduledKey, b: ScheduledKey): number =>
  a.activateAt.getTime() - b.activateAt.getTime() || (a.kid < b.kid ? 1 : -1);

const livingOf = (keys: readonly ScheduledKey[]): ScheduledKey[] =>
  keys.filter(({ revokedAt }) => revokedAt === null).sort(byActivation);

/** The key that signs now; undefined when each key is revoked, destroyed or not yet active. */
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

/** A change that makes another key sign. `promote` moves the activation of a published key. */
export type Succession =
  | { readonly kind: 'promote'; readonly kid: string; readonly activateAt: Date }
  | { readonly kind: 'publish'; readonly activateAt: Date };

/**
 * Rotates the keys as soon as verifiers allow it: immediately when the next key has been published for long enough.
 * Several requests within ten minutes are one rotation.
 * @returns null when the rotation was already made
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
 * The key that signs from now on when this key is revoked: the next key, even if it was published only recently, else a
 * new one.
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
 * The changes for a new algorithm of the tenant: keys of other algorithms that have not signed are deleted, and a new
 * key is published unless the last key that remains has the algorithm.
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

/** Keys whose private half is due for destruction: retired for a minute, while another key signs. */
export function keysToRetire(schedule: Pick<Schedule, 'keys' | 'now'>): ScheduledKey[] {
  if (signingKeyOf(schedule) === undefined) return [];
  return schedule.keys.filter((key) => {
    const { sealed, retireAt } = key;
    if (!sealed || retireAt === null || after(retireAt, DESTROYED_AFTER_SECONDS) > schedule.now) return false;
    return stateOf(key, schedule) === 'retired';
  });
}

/** Keys that signed no live token. */
export function keysToRemove(schedule: Pick<Schedule, 'keys' | 'now'>): ScheduledKey[] {
  const isOver = ({ removeAt }: ScheduledKey) => removeAt !== null && removeAt <= schedule.now;
  return schedule.keys.filter(
    (key) => isOver(key) && ['retired', 'revoked'].includes(stateOf(key, schedule)),
  );
}

/** The kinds of due steps. `publish`: there is no next key, or, after an incident, no key that signs. */
export type DueStep = 'publish' | 'retire' | 'remove';

export type ScheduleStep =
  | { readonly kind: DueStep | 'end' }
  | {
      readonly kind: 'wait';
      readonly reason: 'activation' | 'retirement' | 'removal';
      readonly delayMs: number;
    };

/** The next step of a tenant's keys; there always is one. */
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
 * The state of a tenant's keys for operators. `revoked`: a key was revoked and may have signed tokens that would still
 * be live. `rotating`: the next key signs within ten minutes, or tokens of an old key still verify. `unprepared`: there
 * is no next key.
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
