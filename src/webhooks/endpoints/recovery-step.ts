// Decides which step is due for a failing endpoint, or how long to wait for the next. Pure: the endpoint's row and the
// database's clock are parameters.
// docs/decisions/0010-endpoint-recovery.md

import { roundDue } from '../rows/crowd.ts';
import type { EndpointColumns } from './endpoint.model.ts';
import { type EndpointState, endpointStateOf, refusesAll, type StateFacts } from './endpoint-state.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Milliseconds of outage after which `webhook.endpoint.failing` is emitted, once for each value. */
export const WARNINGS_AFTER = [HOUR, DAY, 3 * DAY] as const;

/** The limits of a wait for the record of an attempt. Usually a signal ends the wait earlier. */
const SHORTEST_WAIT = 5 * SECOND;
const LONGEST_WAIT = HOUR;

/** An endpoint's row, with `now` by the database's clock. */
export type EndpointFacts = StateFacts &
  Pick<EndpointColumns, 'probeAt' | 'permitsAt' | 'warned' | 'warnedFor'> & {
    /** When the hold of the host ends; null for a hold without an end. */
    readonly hostHeldUntil: Date | null;
    /** When the last hold of the tenant or the host ended. Before that no attempt could succeed. */
    readonly restedUntil: Date | null;
    readonly disableAfterDays: number;
    /** When the first delivery of the endpoint's crowd is due; null without a crowd. */
    readonly crowdDueAt: Date | null;
  };

export type DueRecoveryStep = 'sendRetries' | 'warn' | 'announceRecovery' | 'deactivate';

/**
 * The event that a wait ends with: a retry of the crowd, a hold's end, a probe, a probe's outcome, the end of the
 * pacing, or a success.
 */
export type RecoveryWait = 'retries' | 'hold' | 'probe' | 'outcome' | 'release' | 'success';

export type RecoveryStep =
  | { readonly kind: DueRecoveryStep }
  | { readonly kind: 'wait'; readonly reason: RecoveryWait; readonly delayMs: number }
  | { readonly kind: 'end' };

/**
 * @returns the time at which the endpoint is deactivated if no delivery succeeds before; null for an open endpoint
 *   without waiting deliveries, since its next delivery may succeed
 */
export function deactivatesAt(endpoint: EndpointFacts): Date | null {
  const { failingSince, restedUntil, disableAfterDays } = endpoint;
  if (failingSince === null || refusesAll(endpoint)) return null;
  const since = Math.max(failingSince.getTime(), restedUntil?.getTime() ?? 0);
  return new Date(since + disableAfterDays * DAY);
}

function warningsOf({ failingSince, warned, warnedFor }: EndpointFacts): number {
  return failingSince !== null && failingSince.getTime() === warnedFor?.getTime() ? warned : 0;
}

/** @returns the number of warnings that are due for an outage of this length */
export function warningsEarned({ failingSince, now }: EndpointFacts): number {
  if (failingSince === null) return 0;
  const since = now.getTime() - failingSince.getTime();
  return WARNINGS_AFTER.filter((after) => since >= after).length;
}

/**
 * Decides the next step from the endpoint's row alone, because other transactions may have changed the row.
 * @returns a due step; a wait, which ends at the next warning or deactivation at the latest; or the end
 */
export function decideRecoveryStep(endpoint: EndpointFacts): RecoveryStep {
  if (endpoint.deleted || !endpoint.active || endpoint.suspended) return { kind: 'end' };
  const untilRetries = retriesDueIn(endpoint);
  if (untilRetries <= 0) return { kind: 'sendRetries' };
  const step = decideWithoutCrowd(endpoint);
  const waits = step.kind === 'wait' && step.delayMs <= untilRetries;
  if (untilRetries === Number.POSITIVE_INFINITY || waits || !['wait', 'end'].includes(step.kind)) return step;
  return { kind: 'wait', reason: 'retries', delayMs: Math.min(untilRetries, DAY) };
}

/** Milliseconds until the next retries of the crowd are released; infinite without a crowd. */
function retriesDueIn({ crowdDueAt, now }: EndpointFacts): number {
  return crowdDueAt === null ? Number.POSITIVE_INFINITY : roundDue(crowdDueAt) - now.getTime();
}

function decideWithoutCrowd(endpoint: EndpointFacts): RecoveryStep {
  if (endpoint.warned > 0 && warningsOf(endpoint) === 0) return { kind: 'announceRecovery' };
  const state = endpointStateOf(endpoint);
  if (state === 'open' || failsRarely(endpoint, state)) return { kind: 'end' };
  // No deactivation and no warning during the hold, because no attempt could succeed.
  if (endpoint.hostHeld) {
    const left = (endpoint.hostHeldUntil?.getTime() ?? Number.POSITIVE_INFINITY) - endpoint.now.getTime();
    return { kind: 'wait', reason: 'hold', delayMs: Math.max(1, Math.min(left, DAY)) };
  }
  const end = deactivatesAt(endpoint);
  if (end !== null && end <= endpoint.now) return { kind: 'deactivate' };
  if (warningsEarned(endpoint) > warningsOf(endpoint)) return { kind: 'warn' };
  const { reason, delayMs } = waitOf(endpoint, state);
  return { kind: 'wait', reason, delayMs: Math.max(1, Math.min(delayMs, untilMilestone(endpoint), DAY)) };
}

/** Whether one or two deliveries have failed since the last success, and none waits: nothing is left to watch. */
function failsRarely(endpoint: EndpointFacts, state: EndpointState): boolean {
  return state === 'failing' && endpoint.waiting === 0 && !refusesAll(endpoint);
}

function waitOf(endpoint: EndpointFacts, state: EndpointState): { reason: RecoveryWait; delayMs: number } {
  const opensAt = Math.max(
    endpoint.holdUntil?.getTime() ?? 0,
    endpoint.state === 'down' ? (endpoint.probeAt?.getTime() ?? 0) : 0,
  );
  if (state === 'held') return { reason: 'hold', delayMs: opensAt - endpoint.now.getTime() };
  if (state === 'down') return { reason: 'probe', delayMs: opensAt - endpoint.now.getTime() };
  // Without a waiting delivery there is no probe. The attempt of the next delivery becomes the probe.
  if (state === 'probing')
    return {
      reason: 'outcome',
      delayMs: endpoint.waiting === 0 ? LONGEST_WAIT : patience(endpoint, endpoint.probeAt),
    };
  if (state === 'releasing') return { reason: 'release', delayMs: patience(endpoint, endpoint.permitsAt) };
  return { reason: 'success', delayMs: DAY };
}

/** The wait grows with the time since the last record of an attempt. */
function patience({ now }: EndpointFacts, since: Date | null): number {
  const silent = now.getTime() - (since ?? now).getTime();
  return Math.min(LONGEST_WAIT, Math.max(SHORTEST_WAIT, silent));
}

function untilMilestone(endpoint: EndpointFacts): number {
  if (endpoint.failingSince === null) return DAY;
  const warning = WARNINGS_AFTER[warningsOf(endpoint)];
  const times = [deactivatesAt(endpoint)?.getTime()];
  if (warning !== undefined) times.push(endpoint.failingSince.getTime() + warning);
  return Math.min(...times.map((time) => (time ?? Number.POSITIVE_INFINITY) - endpoint.now.getTime()));
}
