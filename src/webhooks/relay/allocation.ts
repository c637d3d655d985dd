// Divides free slots among endpoints: round-robin by tenant, then by endpoint, a small quantum in each turn. Says
// how much of each share is for retries. Pure.
import { type Room, roomFor, type Speed, without } from './slot-room.ts';

/** An endpoint with unclaimed work, as its row says. */
export type ReadyEndpoint = {
  readonly tenantId: string;
  readonly endpoint: string;
  readonly open: boolean;
  readonly p90Ms: number | null;
  readonly failing: boolean;
  readonly cap: number;
  /** Failures in a row, and how often it was probed since it closed; more than 0 when it has opened meanwhile. */
  readonly failures: number;
  readonly probeStep: number;
  /** Attempts that may begin while the endpoint is paced; null when it is not paced. */
  readonly permits: number | null;
  /** `tokens`: attempts that may begin now, as a fraction; `rate`: tokens added each second. Null without a rate. */
  readonly tokens: number | null;
  readonly rate: number | null;
};

/** The right of an endpoint to slots. `room` is how many more attempts it may have under way. */
export type EndpointRoom = Pick<
  ReadyEndpoint,
  'tenantId' | 'endpoint' | 'permits' | 'tokens' | 'failures' | 'probeStep'
> & { readonly speed: Speed; readonly room: number };

/**
 * What a claim takes of an endpoint: `quota` rows, of which `retries` are for retries, and for late ones alone where
 * `late` is true. The rest is for first attempts. Each takes what the other leaves.
 */
export type Share = EndpointRoom & ForRetries & { readonly quota: number };

type ForRetries = { readonly retries: number; readonly late: boolean };

/** Milliseconds after which a retry that waits for a relay is late. */
export const LATE_AFTER = 10_000;

/** The tenant, and each tenant's endpoint, at which the last round ended. The next round begins after them. */
export type Rotation = { readonly tenant: string; readonly endpoints: ReadonlyMap<string, string> };

export const START_OF_ROTATION: Rotation = { tenant: '', endpoints: new Map() };

/**
 * @param options.free the slots that may be given in all
 * @param options.tenantRoom the slots that a tenant may still get
 * @param options.quantum the slots that an endpoint gets in one turn
 * @param options.draw a random number, 0 or more and less than 1
 * @returns a share of 1 slot or more for each endpoint that gets slots, and the rotation for the next call
 */
export function allocate({
  endpoints,
  free,
  tenantRoom,
  quantum,
  rotation,
  draw,
}: {
  endpoints: readonly EndpointRoom[];
  free: Room;
  tenantRoom: (tenantId: string) => Room;
  quantum: number;
  rotation: Rotation;
  draw: number;
}): { shares: Share[]; rotation: Rotation } {
  let left = free;
  let lastTenant = rotation.tenant;
  const lastEndpoints = new Map<string, string>();
  const given = new Map<string, EndpointRoom & { quota: number }>();
  const turns = [...groupByTenant(endpoints)].map(([tenantId, own]) => {
    const last = rotation.endpoints.get(tenantId) ?? '';
    if (rotation.endpoints.has(tenantId)) lastEndpoints.set(tenantId, last);
    return { tenantId, room: tenantRoom(tenantId), queue: after(own, last, ({ endpoint }) => endpoint) };
  });
  let waiting = after(turns, rotation.tenant, ({ tenantId }) => tenantId);
  while (waiting.length > 0) {
    const next: typeof waiting = [];
    for (const turn of waiting) {
      const possible = ({ speed }: EndpointRoom) => Math.min(roomFor(turn.room, speed), roomFor(left, speed));
      // An endpoint without room gets none later in this round, because room only shrinks.
      turn.queue = turn.queue.filter((endpoint) => possible(endpoint) > 0);
      const first = turn.queue.shift();
      if (first === undefined) continue;
      const { tenantId, endpoint, speed, room } = first;
      const quota = Math.min(quantum, room, possible(first));
      const before = given.get(endpoint)?.quota ?? 0;
      given.set(endpoint, { ...first, quota: before + quota });
      left = without(left, speed, quota);
      turn.room = without(turn.room, speed, quota);
      lastTenant = tenantId;
      lastEndpoints.set(tenantId, endpoint);
      if (room > quota) turn.queue.push({ ...first, room: room - quota });
      if (turn.queue.length > 0) next.push(turn);
    }
    waiting = next;
  }
  const shares = [...given.values()].map((share) => ({ ...share, ...retriesOf(share, draw) }));
  return { shares, rotation: { tenant: lastTenant, endpoints: lastEndpoints } };
}

/**
 * Says who goes first. First attempts do, but half of the places are for late retries: they would wait for ever behind
 * new deliveries that come faster than the receiver takes them. A paced endpoint that fails gives all places to retries
 * after an odd number of failures in a row, and to first attempts after an even one. One that opened because only first
 * attempts were refused gives them to retries, which show whether it takes any.
 * @param draw decides about the odd place
 */
export function retriesOf(
  { permits, failures, probeStep, quota }: Pick<Share, 'permits' | 'failures' | 'probeStep' | 'quota'>,
  draw: number,
): ForRetries {
  if (permits === null && probeStep > 0) return { retries: quota, late: false };
  if (permits !== null && failures > 0) return { retries: quota * (failures % 2), late: false };
  return { retries: Math.floor(quota / 2 + draw), late: true };
}

/** @returns milliseconds until an endpoint with a rate may begin another attempt; Infinity when it may now */
export function tokenWait({ tokens, rate }: Pick<ReadyEndpoint, 'tokens' | 'rate'>): number {
  if (tokens === null || rate === null || tokens >= 1) return Number.POSITIVE_INFINITY;
  return ((1 - tokens) / rate) * 1_000;
}

function groupByTenant(endpoints: readonly EndpointRoom[]): Map<string, EndpointRoom[]> {
  const groups = new Map<string, EndpointRoom[]>();
  for (const each of endpoints) {
    const { permits, tokens, room } = each;
    const endpoint = { ...each, room: Math.min(room, permits ?? room, Math.floor(tokens ?? room)) };
    if (endpoint.room <= 0) continue;
    const group = groups.get(endpoint.tenantId);
    if (group === undefined) groups.set(endpoint.tenantId, [endpoint]);
    else group.push(endpoint);
  }
  return groups;
}

function after<T>(items: readonly T[], last: string, keyOf: (item: T) => string): T[] {
  const sorted = [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const start = sorted.findIndex((item) => keyOf(item) > last);
  return start <= 0 ? sorted : [...sorted.slice(start), ...sorted.slice(0, start)];
}
