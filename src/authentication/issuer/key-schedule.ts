// Rules of the schedule of issuer keys: published, active, retired, removed, or revoked at any time. Changes are stored
// long before they apply, so that verifiers and other processes read them early enough. The caller passes the time.
// docs/decisions/0018-issuer-keys.md
import type { SigningAlgorithm } from '../../platform/context.ts';
import type { IssuerKeyRow } from './issuer-key.model.ts';
import type { IssuerAlgorithm } from './issuer-key.ts';

/** Seconds for which a key is published before it signs: the 300 s of cached JWKS answers and a margin. */
export const PUBLISHED_AHEAD_SECONDS = 600;

/**
 * Seconds for which a key is published after it has stopped signing: a day, which is the longest lifetime of an access
 * token, and ten minutes for the difference of clocks and for cached lists of keys.
 */
export const PUBLISHED_AFTER_SECONDS = 87_000;

/** Seconds after which a retired key's private half is destroyed. By then each process knows that another key signs. */
const DESTROYED_AFTER_SECONDS = 60;

/** Seconds: a key that will sign within this time counts as signing, because its transaction may commit late. */
const IMMINENT_SECONDS = 60;

/** Longest sleep of the workflow in milliseconds. Then it reads the keys again, in case a signal was lost. */
const LONGEST_WAIT_MS = 86_400_000;

/** `published`: will sign. `active`: signs. `retired`: its tokens are valid. `revoked`: its tokens are refused. */
export const ISSUER_KEY_STATES = ['published', 'active', 'retired', 'revoked'] as const;
export type IssuerKeyState = (typeof ISSUER_KEY_STATES)[number];

/** `retireAt` and `removeAt` are null until a later key is published. `sealed`: its private half is stored. */
export type ScheduledKey = Pick<
  IssuerKeyRow,
  'id' | 'kid' | 'algorithm' | 'activateAt' | 'retireAt' | 'removeAt' | 'revokedAt'
> & { readonly publishedAt: Date; readonly sealed: boolean };

/** A tenant's keys. `now` is the database's time of the read, `algorithm` the tenant's current choice. */
export type Schedule = {
  readonly now: Date;
  readonly algorithm: IssuerAlgorithm;
  readonly keys: readonly ScheduledKey[];
};

export const after = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1000);

const latest = (...times: readonly Date[]): Date =>
  new Date(Math.max(...times.map((time) => time.getTime())));

/** Earliest activation first. Of two keys with the same time, the key with the smaller `kid` is last and signs. */
const byActivation = (a: ScheduledKey, b: ScheduledKey): number =>
  a.activateAt.getTime() - b.activateAt.getTime() || (a.kid < b.kid ? 1 : -1);

const livingOf = (keys: readonly ScheduledKey[]): ScheduledKey[] =>
  keys.filter(({ revokedAt }) => revokedAt === null).sort(byActivation);

/** Returns the key that signs now; undefined when every key is revoked, destroyed or not yet active. */
export function signingKeyOf({ keys, now }: Pick<Schedule, 'keys' | 'now'>): ScheduledKey | undefined {
  return livingOf(keys).findLast(({ activateAt, sealed }) => sealed && activateAt <= now);
}

export function nextKeyOf({ keys, now }: Pick<Schedule, 'keys' | 'now'>): ScheduledKey | undefined {
  return livingOf(keys).find(({ activateAt }) => activateAt > now);
}

export function stateOf(key: ScheduledKey, schedule: Pick<Schedule, 'keys' | 'now'>): IssuerKeyState {
  if (key.revokedAt !== null) return 'revoked';
  if (key.activateAt > schedule.now) return 'published';
  return signingKeyOf(schedule)?.kid === key.kid ? 'active' : 'retired';
}

/**
 * Returns when a key that is published now begins to sign: after the current key has signed for its lifetime, and not
 * before every verifier can have read the new key. It is now when no key signs.
 * @param lifetime seconds for which a key signs
 */
export function planActivation({ keys, now }: Pick<Schedule, 'keys' | 'now'>, lifetime: number): Date {
  const signing = signingKeyOf({ keys, now });
  if (signing === undefined) return now;
  return latest(after(now, PUBLISHED_AHEAD_SECONDS), after(signing.activateAt, lifetime));
}

/** The change that makes another key sign. `promote` makes a published key sign earlier. */
export type Succession =
  | { readonly kind: 'promote'; readonly kid: string; readonly activateAt: Date }
  | { readonly kind: 'publish'; readonly activateAt: Date };

/**
 * Plans a rotation as soon as every verifier knows the next key: immediately when it has been published for long
 * enough. Several requests within ten minutes cause one rotation.
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
 * Plans which key signs after this key is revoked: the next key, even if it was published recently, or else a new key.
 * @returns null when the key is not the signing key
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
 * Plans the change of a tenant's algorithm. Keys of other algorithms that have not signed are deleted. A new key is
 * published unless the last remaining key has the algorithm.
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

/** Computes when each key retires: when the next key begins to sign. @returns the times that change */
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

/** Returns the keys whose private half must be destroyed: retired for a minute, while another key signs. */
export function keysToRetire(schedule: Pick<Schedule, 'keys' | 'now'>): ScheduledKey[] {
  if (signingKeyOf(schedule) === undefined) return [];
  return schedule.keys.filter((key) => {
    const { sealed, retireAt } = key;
    if (!sealed || retireAt === null || after(retireAt, DESTROYED_AFTER_SECONDS) > schedule.now) return false;
    return stateOf(key, schedule) === 'retired';
  });
}

/** Returns the keys whose tokens have all expired. */
export function keysToRemove(schedule: Pick<Schedule, 'keys' | 'now'>): ScheduledKey[] {
  const isOver = ({ removeAt }: ScheduledKey) => removeAt !== null && removeAt <= schedule.now;
  return schedule.keys.filter(
    (key) => isOver(key) && ['retired', 'revoked'].includes(stateOf(key, schedule)),
  );
}

/** `publish` is due when there is no next key, or when no key signs after a revocation. */
export type DueStep = 'publish' | 'retire' | 'remove';

export type ScheduleStep =
  | { readonly kind: DueStep | 'end' }
  | {
      readonly kind: 'wait';
      readonly reason: 'activation' | 'retirement' | 'removal';
      readonly delayMs: number;
    };

/** Decides the next step of a tenant's keys. There is always a next step. */
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
 * State of a tenant's keys for operators. `revoked`: a key was revoked, and tokens that it signed may not have expired
 * yet. `rotating`: the next key signs within ten minutes, or tokens of an old key are still valid. `unprepared`: there
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
