// What a failed attempt means for its endpoint: a hold, an outage, the next probe. Pure: the time is a parameter, and
// comes from the database.
// docs/decisions/0010-endpoint-recovery.md
import { REFUSALS, REFUSALS_COUNT_AFTER_MS, type RecoverySettings } from './recovery-settings.ts';

/** The columns of an endpoint that failures change, and `recoveredAt`, the latest success that followed a failure. */
export type EndpointHealth = {
  readonly state: 'open' | 'held' | 'down';
  readonly failuresInARow: number;
  readonly failingSince: Date | null;
  readonly failingDeliveries: readonly string[];
  readonly recoveredAt: Date | null;
  readonly holdUntil: Date | null;
  readonly probeStep: number;
  readonly probeAt: Date | null;
  readonly permits: number | null;
  readonly released: number;
  readonly epoch: number;
  readonly watched: boolean;
};

/**
 * A failed attempt. `holdMs` is the wait that the receiver asked for, in milliseconds; null without one. `limited`: the
 * receiver refuses the rate (429), and not only this attempt. `startedAt` is ISO 8601 by the database's clock.
 * `refused`: the delivery was refused for good. `first`: it was the delivery's first attempt.
 */
export type EndpointFailure = {
  readonly deliveryId: string;
  readonly startedAt: string;
  readonly holdMs: number | null;
  readonly limited: boolean;
  readonly probe: boolean;
  readonly refused: boolean;
  readonly error: string;
  readonly first?: boolean | undefined;
};

/**
 * After so many failures in a row the endpoint's workflow is started, even if the endpoint stays open. The endpoint may
 * have only one delivery, and would then never count as down.
 */
const WATCHED_FROM = 3;

/** The first deliveries that failed in a row are remembered; more are not counted. */
const MOST_REMEMBERED = 3;

/**
 * For so many milliseconds after a success that followed a failure, a 503 with `Retry-After` delays only its own
 * delivery. A receiver that refuses some deliveries and takes others is not away.
 */
const WORKS_FOR_MS = 5_000;

/**
 * For so many milliseconds after such a success a failed first attempt says nothing of the endpoint: a receiver may
 * refuse each first attempt, and the retries that it takes come 5 s after the attempts that it refuses, or later under
 * load.
 */
export const PROVEN_FOR_MS = 15_000;

type Facts = Pick<
  EndpointFailure,
  'deliveryId' | 'startedAt' | 'holdMs' | 'limited' | 'probe' | 'refused' | 'first'
>;

/**
 * Judges a failed attempt. A refusal is excused as its delivery's own fault, until nothing has succeeded for
 * `REFUSALS_COUNT_AFTER_MS`: it closes the endpoint later and starts no workflow. A failure that closes the endpoint
 * leaves one permit, for the attempt that begins when it opens; one that does not close it returns its permit. An
 * attempt that began before the endpoint went down and fails later is only counted.
 * @param now the time of the database
 * @returns the endpoint after the failure, and whether its workflow is signaled
 */
export function judgeFailure(
  row: EndpointHealth,
  failure: Facts,
  now: Date,
  settings: RecoverySettings,
): { readonly next: EndpointHealth; readonly signal: boolean } {
  const failures = row.failuresInARow + 1;
  const since = row.failingSince ?? new Date(failure.startedAt);
  const excused = failure.refused && ageOf(since, now) < REFUSALS_COUNT_AFTER_MS;
  const deliveries = failedOf(row, failure);
  const probed = row.state === 'down' && failure.probe;
  const holds = isHold(row, failure, now);
  const falls =
    row.state !== 'down' &&
    !(failure.first === true && isRecent(row.recoveredAt, now, PROVEN_FOR_MS)) &&
    failures >= (excused ? REFUSALS : settings.failures) &&
    deliveries.count >= settings.deliveries &&
    ageOf(since, now) >= settings.failingMs;
  const closes = falls || probed || holds;
  const probeStep = falls ? 0 : probed ? nextStep(row.probeStep, settings) : row.probeStep;
  const next: EndpointHealth = {
    ...row,
    state: row.state === 'down' || falls ? 'down' : holds ? 'held' : row.state,
    failuresInARow: failures,
    failingSince: since,
    failingDeliveries: deliveries.remembered,
    holdUntil: holds ? later(row.holdUntil, holdEnd(failure.holdMs ?? 0, now)) : row.holdUntil,
    probeStep,
    probeAt: falls || probed ? plus(now, settings.probeDelaysMs[probeStep] ?? 0) : row.probeAt,
    permits: closes ? 1 : row.state === 'down' || row.permits === null ? row.permits : row.permits + 1,
    released: closes ? 0 : row.released,
    epoch: row.epoch + (closes ? 1 : 0),
    watched: row.watched,
  };
  const begins = holds && (row.holdUntil === null || row.holdUntil <= now);
  const isLong = !row.watched && !excused && failures >= WATCHED_FROM;
  const signal = falls || probed || begins || isLong;
  return { next: { ...next, watched: row.watched || signal }, signal };
}

function failedOf({ failingDeliveries }: EndpointHealth, { deliveryId }: Facts) {
  if (failingDeliveries.includes(deliveryId))
    return { count: failingDeliveries.length, remembered: failingDeliveries };
  const isFull = failingDeliveries.length >= MOST_REMEMBERED;
  return {
    count: failingDeliveries.length + 1,
    remembered: isFull ? failingDeliveries : [...failingDeliveries, deliveryId],
  };
}

function isHold({ recoveredAt }: EndpointHealth, { holdMs, limited, first }: Facts, now: Date): boolean {
  if (holdMs === null) return false;
  if (limited || recoveredAt === null) return true;
  return ageOf(recoveredAt, now) > (first === true ? PROVEN_FOR_MS : WORKS_FOR_MS);
}

/** The database's time has microseconds and a Date none: a millisecond is added, because a hold may not end early. */
function holdEnd(holdMs: number, now: Date): Date {
  return plus(now, Math.ceil(holdMs) + 1);
}

function nextStep(step: number, { probeDelaysMs }: RecoverySettings): number {
  return Math.min(step + 1, probeDelaysMs.length - 1);
}

function isRecent(time: Date | null, now: Date, withinMs: number): boolean {
  return time !== null && ageOf(time, now) < withinMs;
}

function later(one: Date | null, other: Date): Date {
  return one !== null && one > other ? one : other;
}

function ageOf(time: Date, now: Date): number {
  return now.getTime() - time.getTime();
}

function plus(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}
