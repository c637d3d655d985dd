// Shares free slots out among lanes: round-robin by tenant, then by lane, a small quantum a turn. Pure.
import { type Pace, type Room, roomFor, without } from './slot-room.ts';

/** A lane with work waiting; `room`: attempts that it may have beyond those in flight. */
export type LaneRoom = {
  readonly tenantId: string;
  readonly lane: string;
  readonly pace: Pace;
  readonly room: number;
};

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
  free: Room;
  tenantRoom: (tenantId: string) => Room;
  quantum: number;
  rotation: Rotation;
}): { grants: Grant[]; rotation: Rotation } {
  let left = free;
  let lastTenant = rotation.tenant;
  const lastLanes = new Map<string, string>();
  const granted = new Map<string, { tenantId: string; lane: string; quota: number }>();
  const turns = [...groupByTenant(lanes)].map(([tenantId, own]) => {
    const last = rotation.lanes.get(tenantId) ?? '';
    if (rotation.lanes.has(tenantId)) lastLanes.set(tenantId, last);
    return { tenantId, room: tenantRoom(tenantId), queue: after(own, last, ({ lane }) => lane) };
  });
  let waiting = after(turns, rotation.tenant, ({ tenantId }) => tenantId);
  while (waiting.length > 0) {
    const next: typeof waiting = [];
    for (const turn of waiting) {
      const possible = ({ pace }: LaneRoom) => Math.min(roomFor(turn.room, pace), roomFor(left, pace));
      // A lane that finds no room now finds none later in this round: room only shrinks.
      turn.queue = turn.queue.filter((lane) => possible(lane) > 0);
      const first = turn.queue.shift();
      if (first === undefined) continue;
      const { tenantId, lane, pace, room } = first;
      const quota = Math.min(quantum, room, possible(first));
      const before = granted.get(lane)?.quota ?? 0;
      granted.set(lane, { tenantId, lane, quota: before + quota });
      left = without(left, pace, quota);
      turn.room = without(turn.room, pace, quota);
      lastTenant = tenantId;
      lastLanes.set(tenantId, lane);
      if (room > quota) turn.queue.push({ ...first, room: room - quota });
      if (turn.queue.length > 0) next.push(turn);
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
