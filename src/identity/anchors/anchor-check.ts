// When the proof of an anchor is looked for, and what a look means for the anchor. It must never look at a clock itself.
import type { AnchorStatus } from './anchor.ts';

/** The outcome of a look that has found the proof; every other one is the code of what was wrong. */
export const FOUND = 'found';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Milliseconds from one look to the next that somebody asks for, and between the first looks. */
export const LEAST_PAUSE_MS = 5 * SECOND;

/** Milliseconds before the time of a pending anchor is over in which it is looked for once more. */
const LAST_LOOK_MS = 60 * SECOND;

/** A verified anchor is revoked after so many milliseconds without its proof, and not before so many looks have missed it. */
const GONE_AFTER_MS = 3 * DAY;
const LEAST_MISSES = 3;

/** Nobody signals this long: then the workflow looks by itself whether it has missed something. */
const LONGEST_WAIT_MS = DAY;

/** What an anchor is judged by. `now` is the database's. */
export type AnchorFacts = {
  readonly now: Date;
  readonly status: AnchorStatus;
  readonly expiresAt: Date;
  readonly nextCheckAt: Date;
};

/**
 * What is due for an anchor. `look`: its proof is to be looked for. `fail`: its time is over without a proof. `wait`: nothing until
 * then, or until something changes. `end`: nothing any more.
 */
export type AnchorStep =
  | { readonly kind: 'look' | 'fail' | 'end' }
  | { readonly kind: 'wait'; readonly delayMs: number };

/** Whether its proof is still looked for. */
export function isLive({ status }: { readonly status: AnchorStatus }): boolean {
  return status === 'pending' || status === 'verified';
}

/** The next step. */
export function decideAnchorStep({ now, status, expiresAt, nextCheckAt }: AnchorFacts): AnchorStep {
  if (!isLive({ status })) return { kind: 'end' };
  const left = (until: Date) => until.getTime() - now.getTime();
  const lifetime = status === 'pending' ? left(expiresAt) : Number.POSITIVE_INFINITY;
  if (lifetime <= 0) return { kind: 'fail' };
  const pause = left(nextCheckAt);
  return pause <= 0
    ? { kind: 'look' }
    : { kind: 'wait', delayMs: Math.min(LONGEST_WAIT_MS, lifetime, pause) };
}

/** What a look is judged by: the anchor as it stands when the look is over. `beganAt`: when the look began. */
export type LookFacts = Omit<AnchorFacts, 'nextCheckAt'> & {
  readonly createdAt: Date;
  readonly beganAt: Date;
  readonly requestedAt: Date | null;
  readonly misses: number;
  readonly missingSince: Date | null;
};

/**
 * What a look makes of an anchor. `delayMs`: until the next look. `change`: what is to be told of it; `missing` once for each time that
 * a verified anchor's proof is gone for several looks.
 */
export type LookEffect = {
  readonly status: 'pending' | 'verified' | 'revoked';
  readonly misses: number;
  readonly missingSince: Date | null;
  readonly delayMs: number;
  readonly change: 'verified' | 'revoked' | 'missing' | null;
};

/**
 * Judges a look that is over. A look whatever fails it counts as one that has missed the proof: three days without a single find, and
 * at least three looks, revoke a verified anchor.
 * @param random from 0 to 1, for the jitter
 * @returns null when the anchor has ended meanwhile: nothing revives it
 */
export function judgeLook(facts: LookFacts, found: boolean, random: number): LookEffect | null {
  const { now, status, expiresAt } = facts;
  if (status === 'failed' || status === 'revoked') return null;
  if (status === 'pending' && now >= expiresAt) return null;
  if (found) {
    const change = status === 'pending' ? 'verified' : null;
    return { status: 'verified', misses: 0, missingSince: null, delayMs: DAY * (1 - 0.1 * random), change };
  }
  const effect = status === 'pending' ? judgePending(facts, random) : judgeMiss(facts, random);
  // It was asked for while this look was under way, perhaps because the proof is there now.
  const asked = facts.requestedAt !== null && facts.requestedAt >= facts.beganAt;
  return asked ? { ...effect, delayMs: Math.min(effect.delayMs, LEAST_PAUSE_MS) } : effect;
}

/** Seconds at first, then minutes, in the end once an hour: a quarter of the anchor's age. */
function judgePending({ now, createdAt, expiresAt }: LookFacts, random: number): LookEffect {
  const age = now.getTime() - createdAt.getTime();
  const pause = Math.min(HOUR, Math.max(LEAST_PAUSE_MS, age / 4)) * (1 + 0.2 * random);
  const last = expiresAt.getTime() - now.getTime() - LAST_LOOK_MS;
  const delayMs = last > 0 ? Math.min(pause, last) : pause;
  return { status: 'pending', misses: 0, missingSince: null, delayMs, change: null };
}

/** A proof that is gone is looked for each hour, so that one bad day of its server costs nothing. */
function judgeMiss(facts: LookFacts, random: number): LookEffect {
  const missingSince = facts.missingSince ?? facts.now;
  const misses = facts.misses + 1;
  const left = revocationTime(missingSince).getTime() - facts.now.getTime();
  if (left <= 0 && misses >= LEAST_MISSES)
    return { status: 'revoked', misses, missingSince, delayMs: 0, change: 'revoked' };
  const pause = HOUR * (1 + 0.2 * random);
  const delayMs = left > 0 ? Math.min(pause, left) : pause;
  return {
    status: 'verified',
    misses,
    missingSince,
    delayMs,
    change: misses === LEAST_MISSES ? 'missing' : null,
  };
}

/** The code of what was wrong at the latest look; null when that found the proof, or there was none. */
export function errorOf({ lastOutcome }: { readonly lastOutcome: string | null }): string | null {
  return lastOutcome === FOUND ? null : lastOutcome;
}

/** When a verified anchor is revoked whose proof stays missing. */
export function revocationTime(missingSince: Date): Date {
  return new Date(missingSince.getTime() + GONE_AFTER_MS);
}

/** Whether a file is the proof: its first line, without a byte order mark and spaces around it. */
export function isProofFile(bytes: Uint8Array, proof: string): boolean {
  const [line = ''] = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/, 1);
  return line.trim() === proof;
}

/** Whether one of the TXT records is the proof: its strings joined, without spaces around them. */
export function isProofRecord(records: readonly (readonly string[])[], proof: string): boolean {
  return records.some((strings) => strings.join('').trim() === proof);
}
