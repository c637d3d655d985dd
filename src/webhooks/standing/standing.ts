// How the endpoints of a tenant stand: whether all is right, in numbers and in one sentence. Pure.
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import { ENDPOINT_STATES, type ShownEndpointState } from '../endpoints/endpoint-state.ts';

/** The most urgent first. */
export const SEVERITIES = ['critical', 'warning', 'notice', 'none'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** In the order in which trouble is named and shown. */
const ORDER = ['down', 'probing', 'held', 'suspended', 'failing', 'releasing', 'open', 'inactive'] as const;

/** The subscriptions of one state and severity; `streams` of them are streams. The oldest is null where none waits. */
export type StateStanding = {
  readonly state: ShownEndpointState;
  readonly severity: Severity;
  readonly subscriptions: number;
  readonly streams: number;
  readonly waiting: number;
  readonly oldestWaitingAt: Date | null;
};

/** Deliveries of one subscription that have failed for good in 24 hours with the same answer, such as `http:422`. */
export type FailedStanding = {
  readonly subscriptionId: string;
  readonly url: string | null;
  readonly active: boolean;
  readonly answer: string;
  readonly severity: Severity;
  readonly deliveries: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
};

/** What was read: all states, and the largest groups of failed deliveries with the sums of all. */
export type ReadStanding = {
  readonly states: readonly StateStanding[];
  readonly failed: {
    readonly deliveries: number;
    readonly groups: number;
    readonly largest: readonly FailedStanding[];
  };
};

const DAY_MS = 86_400_000;

/** @returns the whole standing, with the severity of each part and of all */
export function judgeStanding({ states, failed }: ReadStanding) {
  const severities = [...states, ...failed.largest].map(({ severity }) => severity);
  return {
    severity: SEVERITIES.find((severity) => severities.includes(severity)) ?? 'none',
    summary: summarize({ states, failed }),
    subscriptions: sum(states, 'subscriptions'),
    inTrouble: sum(states.filter(isTroubled), 'subscriptions'),
    waiting: sum(states, 'waiting'),
    oldestWaitingAt: oldestOf(states),
    states: [...states]
      .sort(byUrgency)
      .map((each) => ({ ...each, oldestCanceledAt: canceledAt(each.oldestWaitingAt) })),
    failedIn24Hours: failed,
  };
}

export type Standing = ReturnType<typeof judgeStanding>;

const isTroubled = ({ severity }: StateStanding): boolean => severity !== 'none';

function oldestOf(states: readonly StateStanding[]): Date | null {
  const times = states.flatMap(({ oldestWaitingAt: at }) => at?.getTime() ?? []);
  return times.length === 0 ? null : new Date(Math.min(...times));
}

const byUrgency = (one: StateStanding, other: StateStanding): number =>
  SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity) ||
  ORDER.indexOf(one.state) - ORDER.indexOf(other.state);

/** What has waited for so long is canceled by the retention. */
const canceledAt = (oldest: Date | null) => oldest && new Date(oldest.getTime() + KEPT_DAYS * DAY_MS);

const sum = (states: readonly StateStanding[], of: 'subscriptions' | 'streams' | 'waiting') =>
  states.reduce((all, each) => all + each[of], 0);

/** @returns the number of subscriptions of each state, of all that there are */
export function countStates(states: readonly Pick<StateStanding, 'state' | 'subscriptions'>[]) {
  const countOf = (state: ShownEndpointState): number =>
    states.reduce((all, each) => all + (each.state === state ? each.subscriptions : 0), 0);
  return Object.fromEntries(ENDPOINT_STATES.map((state) => [state, countOf(state)])) as Readonly<
    Record<ShownEndpointState, number>
  >;
}

/** @returns whether all is right, in words that every page and command shows; the same while the numbers are */
export function summarize({ states, failed }: ReadStanding): string {
  const all = sum(states, 'subscriptions');
  if (all === 0) return 'Nothing goes out yet: there is no subscription.';
  const troubled = states.filter(isTroubled);
  const paused = troubled.filter(({ state }) => state === 'inactive');
  const closed = troubled.filter(({ state }) => state !== 'inactive');
  if (troubled.length === 0 && failed.deliveries === 0)
    return 'All is well: no endpoint is in trouble, no delivery has failed in 24 hours.';
  return [
    troubled.length === 0 ? 'No endpoint is in trouble.' : '',
    closed.length === 0 ? '' : `${describeClosed(closed)}.`,
    paused.length === 0 ? '' : `${describePaused(paused)}.`,
    failed.deliveries === 0
      ? ''
      : `${count(failed.deliveries, 'delivery has', 'deliveries have')} failed for good in 24 hours.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function describeClosed(closed: readonly StateStanding[]): string {
  const counts = countStates(closed);
  const words = ORDER.filter((state) => counts[state] > 0).map((state, n) => {
    const word = state === 'open' || state === 'releasing' ? `${state} with many failures` : state;
    const of = counts[state];
    return `${n === 0 ? count(of, 'endpoint is', 'endpoints are') : format(of)} ${word}`;
  });
  const waiting = sum(closed, 'waiting');
  return `${words.join(', ')}: ${waiting === 0 ? 'nothing waits there' : `${count(waiting, 'delivery waits', 'deliveries wait')} there`}`;
}

function describePaused(paused: readonly StateStanding[]): string {
  const first = canceledAt(oldestOf(paused));
  const waiting = sum(paused, 'waiting');
  const subject = count(sum(paused, 'subscriptions'), 'subscription is', 'subscriptions are');
  if (first === null) return `${subject} inactive`;
  const day = first.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', timeZone: 'UTC' });
  return `${subject} inactive: ${count(waiting, 'delivery waits', 'deliveries wait')} there, and the oldest is canceled on ${day}`;
}

const format = (value: number) => value.toLocaleString('en');
const count = (value: number, one: string, more: string) => `${format(value)} ${value === 1 ? one : more}`;
