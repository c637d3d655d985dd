// Divides free slots among endpoints: round-robin by tenant, then by endpoint, a small quantum in each turn. Pure.
import { type Room, roomFor, type Speed, without } from './slot-room.ts';

/** An endpoint with work. `room` is how many more attempts it may have under way. */
export type EndpointRoom = {
  readonly tenantId: string;
  readonly endpoint: string;
  readonly speed: Speed;
  readonly room: number;
};

export type Share = { readonly tenantId: string; readonly endpoint: string; readonly quota: number };

/** The tenant, and each tenant's endpoint, at which the last round ended. The next round begins after them. */
export type Rotation = { readonly tenant: string; readonly endpoints: ReadonlyMap<string, string> };

export const START_OF_ROTATION: Rotation = { tenant: '', endpoints: new Map() };

/**
 * @param options.free the slots that may be given in all
 * @param options.tenantRoom the slots that a tenant may still get
 * @param options.quantum the slots that an endpoint gets in one turn
 * @returns a share of 1 slot or more for each endpoint that gets slots, and the rotation for the next call
 */
export function allocate({
  endpoints,
  free,
  tenantRoom,
  quantum,
  rotation,
}: {
  endpoints: readonly EndpointRoom[];
  free: Room;
  tenantRoom: (tenantId: string) => Room;
  quantum: number;
  rotation: Rotation;
}): { shares: Share[]; rotation: Rotation } {
  let left = free;
  let lastTenant = rotation.tenant;
  const lastEndpoints = new Map<string, string>();
  const given = new Map<string, { tenantId: string; endpoint: string; quota: number }>();
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
      given.set(endpoint, { tenantId, endpoint, quota: before + quota });
      left = without(left, speed, quota);
      turn.room = without(turn.room, speed, quota);
      lastTenant = tenantId;
      lastEndpoints.set(tenantId, endpoint);
      if (room > quota) turn.queue.push({ ...first, room: room - quota });
      if (turn.queue.length > 0) next.push(turn);
    }
    waiting = next;
  }
  return { shares: [...given.values()], rotation: { tenant: lastTenant, endpoints: lastEndpoints } };
}

function groupByTenant(endpoints: readonly EndpointRoom[]): Map<string, EndpointRoom[]> {
  const groups = new Map<string, EndpointRoom[]>();
  for (const endpoint of endpoints) {
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
