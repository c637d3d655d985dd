// What one screen says about the whole service, and which of it needs a person. Pure.
import type { FailingHost } from '../../webhooks/endpoints/host-hold.ts';
import type { Standing as EndpointStanding } from '../../webhooks/standing/standing.ts';
import type { ObjectiveStanding } from '../objectives/objective.service.ts';

/** A reading that failed is null. Seconds and counts. */
export type Standing = {
  readonly version: string;
  readonly processes:
    | readonly { readonly role: string; readonly count: number; readonly since: Date }[]
    | null;
  readonly temporal: 'reachable' | 'unreachable';
  readonly gauges: Readonly<Record<Gauge, number | null>>;
  readonly failingHosts: readonly Pick<FailingHost, 'host' | 'endpoints' | 'errors'>[] | null;
  /** Of the endpoints of all tenants. */
  readonly endpoints: EndpointStanding | null;
  /** Of 30 days. */
  readonly objectives: readonly ObjectiveStanding[] | null;
  /** The newest run of `doctor --fix` that mended something: only those are on record. */
  readonly lastMended: Date | null;
};

type Gauge =
  | 'waiting'
  | 'oldestWaiting'
  | 'oldestCommand'
  | 'overdue'
  | 'mostOverdue'
  | 'unsealed'
  | 'unaccounted';

/** @returns host and path of an address: its query may be secret */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** Seconds from which a person should look; those of the alerts that wake somebody (docs/operations/alerts.md). */
export const LIMITS = { oldestWaiting: 60, oldestCommand: 300, mostOverdue: 300, unsealed: 300 } as const;

/** @returns what needs a person, one sentence each; empty when all is well */
export function findTroubles({ processes, temporal, gauges, endpoints }: Standing): string[] {
  const workers = processes?.find(({ role }) => role === 'worker')?.count ?? 0;
  const late = (name: keyof typeof LIMITS) => (gauges[name] ?? 0) > LIMITS[name];
  return [
    ...(processes === null ? ['The database does not answer.'] : []),
    ...(processes !== null && workers === 0 ? ['No worker lives: deliveries wait.'] : []),
    ...(temporal === 'reachable' ? [] : ['Temporal does not answer: workflows go on when it is back.']),
    ...(late('oldestWaiting')
      ? [`A delivery to a healthy endpoint has waited ${gauges.oldestWaiting} s for a worker.`]
      : []),
    ...(late('oldestCommand') ? [`A retry or cancellation has waited ${gauges.oldestCommand} s.`] : []),
    ...(late('mostOverdue')
      ? [`${gauges.overdue} deliveries are overdue, one by ${gauges.mostOverdue} s: countersign doctor`]
      : []),
    ...(late('unsealed') ? [`The audit log has not been sealed for ${gauges.unsealed} s.`] : []),
    ...((gauges.unaccounted ?? 0) > 0
      ? [`${gauges.unaccounted} deliveries are not accounted for: countersign doctor`]
      : []),
    ...((endpoints?.failedIn24Hours.deliveries ?? 0) > 0
      ? [
          `${endpoints?.failedIn24Hours.deliveries} deliveries failed for good in 24 h: nobody sends them again by itself.`,
        ]
      : []),
    ...(processes !== null && endpoints === null ? ['The endpoints could not be read.'] : []),
    ...(processes !== null && Object.values(gauges).includes(null) ? ['Not everything could be read.'] : []),
  ];
}
