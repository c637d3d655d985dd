// Decides when an anchor's proof is checked, and what each outcome changes. The caller passes the time.
import type { AnchorRow } from './anchor.model.ts';
import type { AnchorStatus } from './anchor.ts';

/** The outcome of a check that found the proof. Every other outcome is an error code. */
export const FOUND = 'found';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Least milliseconds between two checks of an anchor. New anchors and requested checks use this pause. */
export const LEAST_PAUSE_MS = 5 * SECOND;

/** Milliseconds before the end of a pending anchor at which its proof is checked for the last time. */
const LAST_LOOK_MS = 60 * SECOND;

/** A verified anchor is revoked when its proof has been missing for this many milliseconds and in this many checks. */
const GONE_AFTER_MS = 3 * DAY;
const LEAST_MISSES = 3;

/** Longest sleep of the workflow in milliseconds. Then it reads the anchor again, in case a signal was lost. */
const LONGEST_WAIT_MS = DAY;

/** Facts that decide the next step. `now` is the database's time. */
export type AnchorFacts = Pick<AnchorRow, 'status' | 'expiresAt' | 'nextCheckAt'> & { readonly now: Date };

/**
 * Next step of an anchor. `look`: check its proof. `fail`: its time has passed without a proof. `wait`: sleep for
 * `delayMs`, or until the anchor changes. `end`: the anchor has ended.
 */
export type AnchorStep =
  | { readonly kind: 'look' | 'fail' | 'end' }
  | { readonly kind: 'wait'; readonly delayMs: number };

/** Returns whether the anchor's proof is still checked. */
export function isLive({ status }: { readonly status: AnchorStatus }): boolean {
  return status === 'pending' || status === 'verified';
}

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

/** Facts that decide the effect of a check, read at its end. `beganAt` is the time when the check began. */
export type LookFacts = Omit<AnchorFacts, 'nextCheckAt'> &
  Pick<AnchorRow, 'createdAt' | 'requestedAt' | 'misses' | 'missingSince'> & { readonly beganAt: Date };

/**
 * Effect of a check on an anchor. `delayMs`: milliseconds until the next check. `change`: the change to record.
 * `missing` is recorded once each time the proof of a verified anchor is missing in several checks in a row.
 */
export type LookEffect = {
  readonly status: 'pending' | 'verified' | 'revoked';
  readonly misses: number;
  readonly missingSince: Date | null;
  readonly delayMs: number;
  readonly change: 'verified' | 'revoked' | 'missing' | null;
};

/**
 * Decides the effect of a finished check. Every failed check counts as a missing proof. A verified anchor is revoked
 * after three days and at least three checks in a row without its proof.
 * @param random from 0 to 1, for the jitter
 * @returns null when the anchor ended during the check
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
  // Another check was requested during this check. The proof may have been published after this check read the domain.
  const asked = facts.requestedAt !== null && facts.requestedAt >= facts.beganAt;
  return asked ? { ...effect, delayMs: Math.min(effect.delayMs, LEAST_PAUSE_MS) } : effect;
}

/** The pause is a quarter of the anchor's age: first seconds, later minutes, at most an hour. */
function judgePending({ now, createdAt, expiresAt }: LookFacts, random: number): LookEffect {
  const age = now.getTime() - createdAt.getTime();
  const pause = Math.min(HOUR, Math.max(LEAST_PAUSE_MS, age / 4)) * (1 + 0.2 * random);
  const last = expiresAt.getTime() - now.getTime() - LAST_LOOK_MS;
  const delayMs = last > 0 ? Math.min(pause, last) : pause;
  return { status: 'pending', misses: 0, missingSince: null, delayMs, change: null };
}

/** A missing proof is checked again each hour, so that an outage of the server for one day does not end the anchor. */
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

/** Returns the error code of the latest check. Null when that check found the proof, or when there was no check. */
export function errorOf({ lastOutcome }: { readonly lastOutcome: string | null }): string | null {
  return lastOutcome === FOUND ? null : lastOutcome;
}

/** Returns when a verified anchor is revoked if its proof stays missing. */
export function revocationTime(missingSince: Date): Date {
  return new Date(missingSince.getTime() + GONE_AFTER_MS);
}

/** Returns whether the first line of a file is the proof, without a byte order mark and without spaces around it. */
export function isProofFile(bytes: Uint8Array, proof: string): boolean {
  const [line = ''] = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/, 1);
  return line.trim() === proof;
}

/** Returns whether a TXT record is the proof, after its strings are joined and spaces around them removed. */
export function isProofRecord(records: readonly (readonly string[])[], proof: string): boolean {
  return records.some((strings) => strings.join('').trim() === proof);
}
