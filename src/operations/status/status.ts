// What one screen says about the whole service, and which of it needs a person. Pure.
import type { Breach } from '../../platform/database/breach.ts';
import type { FailingHost } from '../../webhooks/endpoints/host-hold.ts';
import type { Standing as EndpointStanding } from '../../webhooks/standing/standing.ts';
import { describeBreach, type Standing as InvariantStanding } from '../invariants/invariant.ts';
import type { ObjectiveStanding } from '../objectives/objective.service.ts';

/** A reading that failed is null. Seconds and counts. */
export type Standing = {
  readonly version: string;
  readonly processes:
    | readonly { readonly role: string; readonly count: number; readonly since: Date }[]
    | null;
  readonly temporal: 'reachable' | 'unreachable';
  /** `rows` of the outbox; how old the oldest one of a healthy endpoint is, and the oldest command. */
  readonly backlog: {
    readonly rows: number;
    readonly oldestDue: number;
    readonly oldestCommand: number;
  } | null;
  readonly invariants: readonly InvariantStanding[];
  readonly failingHosts: readonly Pick<FailingHost, 'host' | 'endpoints' | 'errors'>[] | null;
  /** Of the endpoints of all tenants. */
  readonly endpoints: EndpointStanding | null;
  /** Of 30 days. */
  readonly objectives: readonly ObjectiveStanding[] | null;
  /** The newest run of `doctor --fix` that mended something: only those are on record. */
  readonly lastMended: Date | null;
};

/** @returns host and path of an address: its query may be secret */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** @returns what needs a person, one sentence each; empty when all is well */
export function findTroubles({ processes, temporal, backlog, invariants, endpoints }: Standing): string[] {
  const workers = processes?.find(({ role }) => role === 'worker')?.count ?? 0;
  const known = invariants.filter(isKnown);
  const unread = backlog === null || known.length < invariants.length;
  return [
    ...(processes === null ? ['The database does not answer.'] : []),
    ...(processes !== null && workers === 0 ? ['No worker lives: deliveries wait.'] : []),
    ...(temporal === 'reachable' ? [] : ['Temporal does not answer: workflows go on when it is back.']),
    ...known
      .filter(({ breach }) => breach.count > 0)
      .map((one) => `${one.name}: ${describeBreach(one, one.breach)}`),
    ...((endpoints?.failedIn24Hours.deliveries ?? 0) > 0
      ? [
          `${endpoints?.failedIn24Hours.deliveries} deliveries failed for good in 24 h: nobody sends them again by itself.`,
        ]
      : []),
    ...(processes !== null && endpoints === null ? ['The endpoints could not be read.'] : []),
    ...(processes !== null && unread ? ['Not everything could be read.'] : []),
  ];
}

const isKnown = (one: InvariantStanding): one is InvariantStanding & { readonly breach: Breach } =>
  one.breach !== undefined;
