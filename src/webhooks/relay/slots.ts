// What this relay has handed over and what has not been attempted yet. Pure: time comes in as milliseconds of any steady clock.
import { createLaneOccupancy, type LaneOccupancy } from '../endpoints/endpoint-occupancy.ts';
import type { LaneRoom } from './allocation.ts';
import { type Pace, type Room, without } from './slot-room.ts';

/** One delivery between its claim and the end of its attempt. `attempts`: how many it had when it was claimed. */
export type Flight = {
  readonly deliveryId: string;
  readonly tenantId: string;
  readonly lane: string;
  readonly pace: Pace;
  readonly local: boolean;
  readonly attempts: number;
  readonly since: number;
};

export type SlotLimits = {
  /** In flight at most, in this process. */
  readonly total: Room;
  /** Of those for one tenant. */
  readonly tenant: Room;
  /** Attempts inside workflow tasks. */
  readonly local: number;
};

/** A lane with work. `cap`: its attempts in flight at most; `localCap`: those inside workflow tasks, as `localAttemptsOf` says. */
export type ReadyLane = {
  readonly tenantId: string;
  readonly lane: string;
  readonly pace: Pace;
  readonly cap: number;
  readonly localCap: number;
};

/** Room of a lane, and whether its attempts run inside workflow tasks. */
export type SlotRoom = LaneRoom & { readonly local: boolean };

/** A local attempt that takes longer than this is not one of a fast receiver. */
const STUCK_MS = 250;

/** So many attempts of this process under way for so long, and a lane counts as slow whatever it was before. */
const SLOW_MS = 1_000;
const SLOW_FLIGHTS = 4;

/** In flight at most of a lane of which nobody knows yet how long its attempts hold their slots. */
const UNPROVEN_CAP = 8;

type Lane = { tenantId: string; pace: Pace; readonly flights: Set<Flight> };

/**
 * The slots of one relay. Lanes not known to be fast get a part of them only, of the process and of their tenant; the slow ones a
 * smaller one, so that a new lane can show what it is.
 * @param occupancy places of lanes, also those that attempts of workflows take
 */
export function createSlots(limits: SlotLimits, occupancy: LaneOccupancy = createLaneOccupancy()) {
  const flights = new Map<string, Flight>();
  const lanes = new Map<string, Lane>();
  // When an attempt was begun in this process: the way there may be long for reasons of our own.
  const begun = new Map<string, number>();
  let local = 0;

  const remove = (deliveryId: string): boolean => {
    const flight = flights.get(deliveryId);
    if (flight === undefined) return false;
    flights.delete(deliveryId);
    begun.delete(deliveryId);
    occupancy.leave(flight.lane, deliveryId);
    const lane = lanes.get(flight.lane);
    lane?.flights.delete(flight);
    if (lane?.flights.size === 0) lanes.delete(flight.lane);
    if (flight.local) local -= 1;
    return true;
  };

  /** What a lane's receiver shows by what is under way: figures of answers come too late. */
  const paceNow = (known: Pace, own: Lane | undefined, now: number): Pace => {
    if (own === undefined || known === 'slow') return known;
    const late = count(own.flights, ({ deliveryId }) => now - (begun.get(deliveryId) ?? now) > SLOW_MS);
    return late >= (known === 'fast' ? SLOW_FLIGHTS : 1) ? 'slow' : known;
  };

  /** While a fast lane's local attempts are all under way it waits for them; if they take long, it goes on with normal ones. */
  const roomOf = (
    { lane, pace, cap, localCap }: ReadyLane,
    share: number,
    now: number,
  ): { room: number; local: boolean } => {
    const own = lanes.get(lane)?.flights ?? new Set<Flight>();
    const most = Math.min(cap, share, pace === 'unproven' ? UNPROVEN_CAP : cap);
    const room = Math.max(0, most - Math.max(own.size, occupancy.size(lane)));
    const isStuck = (flight: Flight) => flight.local && now - flight.since > STUCK_MS;
    if (localCap === 0 || count(own, isStuck) > 0) return { room, local: false };
    const left = limits.local - local;
    // Others hold the local ones and do not give them back.
    if (left <= 0 && count(flights.values(), isStuck) * 2 > limits.local) return { room, local: false };
    const locals = count(own, (flight) => flight.local);
    return { room: Math.max(0, Math.min(room, localCap - locals, left)), local: true };
  };

  return {
    add: (flight: Flight): void => {
      remove(flight.deliveryId);
      flights.set(flight.deliveryId, flight);
      const { lane: id, tenantId, pace } = flight;
      const lane = lanes.get(id) ?? { tenantId, pace, flights: new Set() };
      lane.pace = pace;
      lane.flights.add(flight);
      occupancy.add(id, flight.deliveryId);
      lanes.set(id, lane);
      if (flight.local) local += 1;
    },

    /** Notes that its attempt is under way from now on. */
    begin: (deliveryId: string, now: number): void => {
      if (flights.has(deliveryId)) begun.set(deliveryId, now);
    },

    /** @returns false when it was not in flight here */
    remove,

    isFull: (): boolean => flights.size >= limits.total.fast,

    /**
     * What each lane with work may have beyond what it has in flight: up to its cap, and to its share of what its tenant may have
     * with lanes of the same pace, in flight or with work.
     * @returns lanes with their pace by now, and the slots that are left to the process and to each tenant
     */
    look: (
      ready: readonly ReadyLane[],
      now: number,
    ): { lanes: SlotRoom[]; free: Room; tenantRoom: (tenantId: string) => Room } => {
      let free = limits.total;
      const tenants = new Map<string, Room>();
      const contenders = new Map<string, Set<string>>();
      const contend = (tenantId: string, pace: Pace, lane: string) => {
        const key = `${tenantId} ${pace}`;
        contenders.set(key, (contenders.get(key) ?? new Set()).add(lane));
      };
      const waiting = ready.map((lane) => {
        const own = lanes.get(lane.lane);
        if (own !== undefined) own.pace = lane.pace;
        return { ...lane, pace: paceNow(lane.pace, own, now) };
      });
      for (const { tenantId, pace, lane } of waiting) contend(tenantId, pace, lane);
      for (const [id, own] of lanes) {
        const pace = paceNow(own.pace, own, now);
        contend(own.tenantId, pace, id);
        free = without(free, pace, own.flights.size);
        const left = tenants.get(own.tenantId) ?? limits.tenant;
        tenants.set(own.tenantId, without(left, pace, own.flights.size));
      }
      const shareOf = ({ tenantId, pace }: ReadyLane): number =>
        Math.max(1, Math.floor(limits.tenant[pace] / (contenders.get(`${tenantId} ${pace}`)?.size ?? 1)));
      return {
        lanes: waiting.map((lane) => ({ ...lane, ...roomOf(lane, shareOf(lane), now) })),
        free,
        tenantRoom: (tenantId) => tenants.get(tenantId) ?? limits.tenant,
      };
    },

    /** Flights that began before `since`: whoever made their attempts has not told us. */
    olderThan: (since: number): Flight[] => [...flights.values()].filter((flight) => flight.since < since),
  };
}

export type Slots = ReturnType<typeof createSlots>;

function count<T>(items: Iterable<T>, matches: (item: T) => boolean): number {
  let total = 0;
  for (const item of items) if (matches(item)) total += 1;
  return total;
}
