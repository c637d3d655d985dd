// What a failed attempt means for its endpoint: a hold, an outage, the next probe. Pure: the time is a parameter, and
// comes from the database.
// docs/decisions/0010-endpoint-recovery.md
import type { EndpointColumns, HEALTH_COLUMNS } from './endpoint.model.ts';
import { REFUSALS, REFUSALS_COUNT_AFTER_MS, type RecoverySettings } from './recovery-settings.ts';

/**
 * The columns of an endpoint that failures change, and `recoveredAt`, the latest success that followed a failure.
 * `takesFirst`: before the failures it took a first attempt; false where that decides nothing.
 */
export type EndpointHealth = Pick<EndpointColumns, (typeof HEALTH_COLUMNS)[number] | 'recoveredAt'> & {
  readonly takesFirst: boolean;
};

/**
 * A failed attempt. `holdMs` is the wait that the receiver asked for, in milliseconds; null without one. `limited`: the
 * receiver refuses the rate (429), and not only this attempt. `startedAt` is ISO 8601 by the database's clock.
 * `refused`: the delivery was refused for good. `first`: it was the delivery's first attempt. `answered`: the receiver
 * answered it.
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
  readonly answered?: boolean | undefined;
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

/**
 * For so many milliseconds of failures the first retries are not in yet. A receiver that has answered only first
 * attempts in that time, and refused them, may take the retries: it closes once, and is then open until they are in.
 * One that took first attempts before is away.
 */
const RETRIES_IN_MS = 8_000;

type Facts = Omit<EndpointFailure, 'error'>;

/**
 * Judges a failed attempt. A refusal is excused as its delivery's own fault, until nothing has succeeded for
 * `REFUSALS_COUNT_AFTER_MS`: it closes the endpoint later and starts no workflow. A failure that closes the endpoint
 * leaves one permit, for the attempt that begins when it opens; one that does not close it returns its permit. An
 * attempt that began before the endpoint went down and fails later is only counted. The first attempt of a delivery
 * that fails just after the endpoint had closed opens it, until the first retries are in.
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
  const isEarly = isEarlyRefusal(failure, since, now);
  if (isEarly && hasPassed(row, failure)) {
    const counted = {
      failuresInARow: failures,
      failingSince: since,
      failingDeliveries: deliveries.remembered,
    };
    return { next: { ...row, ...counted, ...REOPENED, epoch: row.epoch + 1, watched: true }, signal: true };
  }
  const isSpared = isEarly && row.state === 'open' && row.probeStep > 0;
  const probed = row.state === 'down' && failure.probe;
  const holds = !isSpared && isHold(row, failure, now);
  const falls =
    row.state !== 'down' &&
    !isSpared &&
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

/** `probeStep` tells such an endpoint from one that has not closed yet. */
const REOPENED = {
  state: 'open',
  holdUntil: null,
  probeAt: null,
  probeStep: 1,
  permits: null,
  released: 0,
} as const;

/** Whether the receiver refuses a new delivery while no retry could have been made. */
function isEarlyRefusal({ first, answered, limited, refused }: Facts, since: Date, now: Date): boolean {
  return first === true && answered === true && !limited && !refused && ageOf(since, now) < RETRIES_IN_MS;
}

/** Whether the endpoint has closed, and no attempt after that has failed. */
export function isFirstClosing({ state, probeStep }: Pick<EndpointHealth, 'state' | 'probeStep'>): boolean {
  return state !== 'open' && probeStep === 0;
}

/** Whether the attempt was the one that passed when the endpoint had closed for the first time. */
function hasPassed(row: EndpointHealth, { probe, startedAt }: Facts): boolean {
  if (!isFirstClosing(row) || row.takesFirst) return false;
  const { state, holdUntil } = row;
  if (state === 'down') return probe;
  return state === 'held' && holdUntil !== null && holdUntil <= new Date(startedAt);
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
