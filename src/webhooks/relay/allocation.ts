// Shares free slots out among lanes: round-robin by tenant, then by lane, a small quantum a turn. Pure.

/** A lane with work waiting; `room`: attempts that it may have beyond those in flight. */
export type LaneRoom = { readonly tenantId: string; readonly lane: string; readonly room: number };

export type Grant = { readonly tenantId: string; readonly lane: string; readonly quota: number };

/** Where the last round ended: the next one goes on behind it. */
export type Rotation = { readonly tenant: string; readonly lanes: ReadonlyMap<string, string> };

export const START_OF_ROTATION: Rotation = { tenant: '', lanes: new Map() };

/**
 * @param lanes in any order
 * @param free slots that may be given out in all
 * @param tenantRoom slots that a tenant may still get
 * @param quantum slots a lane gets in one turn
 * @returns grants of at least 1, one a lane, and the rotation to give to the next call
 */
export function allocate({
  lanes,
  free,
  tenantRoom,
  quantum,
  rotation,
}: {
  lanes: readonly LaneRoom[];
  free: number;
  tenantRoom: (tenantId: string) => number;
  quantum: number;
  rotation: Rotation;
}): { grants: Grant[]; rotation: Rotation } {
  let left = free;
  let lastTenant = rotation.tenant;
  const lastLanes = new Map<string, string>();
  const granted = new Map<string, { tenantId: string; lane: string; quota: number }>();
  const turns = [...groupByTenant(lanes)]
    .map(([tenantId, own]) => {
      const last = rotation.lanes.get(tenantId) ?? '';
      if (rotation.lanes.has(tenantId)) lastLanes.set(tenantId, last);
      return { tenantId, room: tenantRoom(tenantId), queue: after(own, last, ({ lane }) => lane) };
    })
    .filter(({ room }) => room > 0);
  let waiting = after(turns, rotation.tenant, ({ tenantId }) => tenantId);
  while (left > 0 && waiting.length > 0) {
    const next: typeof waiting = [];
    for (const turn of waiting) {
      const first = turn.queue.shift();
      if (first === undefined || left <= 0) continue;
      const quota = Math.min(quantum, first.room, turn.room, left);
      const before = granted.get(first.lane)?.quota ?? 0;
      granted.set(first.lane, { tenantId: turn.tenantId, lane: first.lane, quota: before + quota });
      left -= quota;
      turn.room -= quota;
      lastTenant = turn.tenantId;
      lastLanes.set(turn.tenantId, first.lane);
      if (first.room > quota) turn.queue.push({ ...first, room: first.room - quota });
      if (turn.room > 0 && turn.queue.length > 0) next.push(turn);
    }
    waiting = next;
  }
  return { grants: [...granted.values()], rotation: { tenant: lastTenant, lanes: lastLanes } };
}

function groupByTenant(lanes: readonly LaneRoom[]): Map<string, LaneRoom[]> {
  const groups = new Map<string, LaneRoom[]>();
  for (const lane of lanes) {
    if (lane.room <= 0) continue;
    const group = groups.get(lane.tenantId);
    if (group === undefined) groups.set(lane.tenantId, [lane]);
    else group.push(lane);
  }
  return groups;
}

/** Sorted by key, beginning with the first key behind `last`, the others at the end. */
function after<T>(items: readonly T[], last: string, keyOf: (item: T) => string): T[] {
  const sorted = [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const start = sorted.findIndex((item) => keyOf(item) > last);
  return start <= 0 ? sorted : [...sorted.slice(start), ...sorted.slice(0, start)];
}
