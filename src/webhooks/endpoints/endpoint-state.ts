// The state of an endpoint in one word. Pure: the endpoint's row and the database's clock are parameters.
import type { EndpointColumns } from './endpoint.model.ts';

/** So many different deliveries show a fault of the endpoint. */
const SEVERAL = 3;

export type EndpointName = { readonly tenantId: string; readonly subscriptionId: string };

/** What decides the state, of an endpoint's row, with `now` by the database's clock. */
export type StateFacts = Pick<
  EndpointColumns,
  'active' | 'deleted' | 'state' | 'holdUntil' | 'failingSince'
> & {
  readonly now: Date;
  readonly suspended: boolean;
  /** An operator holds the host. */
  readonly hostHeld: boolean;
  readonly open: boolean;
  /** Attempts that may begin while the endpoint is paced; null when it is not paced. */
  readonly permits: number | null;
  /** Different deliveries that have failed since the last success, counted up to 3. */
  readonly failingDeliveries: number;
  readonly waiting: number;
};

/** The states that the interface shows (docs/glossary.md). */
export const ENDPOINT_STATES = [
  'open',
  'failing',
  'held',
  'down',
  'probing',
  'releasing',
  'inactive',
  'suspended',
] as const;

export type ShownEndpointState = (typeof ENDPOINT_STATES)[number];
export type EndpointState = ShownEndpointState | 'deleted';

/** @returns the word that the interface, the console, the command line and Temporal have for the endpoint's state */
export function endpointStateOf(endpoint: StateFacts): EndpointState {
  if (endpoint.deleted) return 'deleted';
  if (!endpoint.active) return 'inactive';
  if (endpoint.suspended) return 'suspended';
  if (!endpoint.open)
    return endpoint.state === 'down' && !isHeld(endpoint) && !endpoint.hostHeld ? 'down' : 'held';
  if (endpoint.state === 'down') return 'probing';
  if (endpoint.permits !== null && endpoint.waiting > 0) return 'releasing';
  return endpoint.failingSince === null ? 'open' : 'failing';
}

/** True when several deliveries have failed for good in a row, so that none of them waits. */
export function refusesAll({ state, waiting, failingSince, failingDeliveries }: StateFacts): boolean {
  return state === 'open' && waiting === 0 && failingSince !== null && failingDeliveries >= SEVERAL;
}

function isHeld({ holdUntil, now }: StateFacts): boolean {
  return holdUntil !== null && holdUntil > now;
}
