// The attempts that this relay has claimed and that have not ended. Pure: the time is a parameter, in milliseconds of any steady clock.
import { createEndpointOccupancy, type EndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import type { EndpointRoom } from './allocation.ts';
import { type Pace, type Room, without } from './slot-room.ts';

/** One delivery between its claim and the end of its attempt. `attempts`: how many it had when it was claimed. */
export type Flight = {
  readonly deliveryId: string;
  readonly tenantId: string;
  readonly endpoint: string;
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

/** An endpoint with work. `cap`: its attempts in flight at most; `localCap`: those inside workflow tasks, as `localAttemptsOf` says. */
export type ReadyEndpoint = {
  readonly tenantId: string;
  readonly endpoint: string;
  readonly pace: Pace;
  readonly cap: number;
  readonly localCap: number;
};

/** Room of an endpoint, and whether its attempts run inside workflow tasks. */
export type SlotRoom = EndpointRoom & { readonly local: boolean };

/** A local attempt that takes longer than this shows that its receiver is not fast. */
const STUCK_MS = 250;

/** An endpoint with so many attempts of this process under way for so long counts as slow. */
const SLOW_MS = 1_000;
const SLOW_FLIGHTS = 4;

/** The most attempts in flight of an unproven endpoint. */
const UNPROVEN_CAP = 8;

type Endpoint = { tenantId: string; pace: Pace; readonly flights: Set<Flight> };

/**
 * The slots of one relay. Endpoints not known to be fast get only a part of those of the process and of their tenant; slow ones a smaller
 * part, so that a new endpoint can show its pace.
 * @param occupancy places of endpoints, including those of attempts that workflows make
 */
export function createSlots(limits: SlotLimits, occupancy: EndpointOccupancy = createEndpointOccupancy()) {
  const flights = new Map<string, Flight>();
  const endpoints = new Map<string, Endpoint>();
  // When an attempt began in this process: the time before is not the receiver's.
  const begun = new Map<string, number>();
  let local = 0;

  const remove = (deliveryId: string): boolean => {
    const flight = flights.get(deliveryId);
    if (flight === undefined) return false;
    flights.delete(deliveryId);
    begun.delete(deliveryId);
    occupancy.leave(flight.endpoint, deliveryId);
    const endpoint = endpoints.get(flight.endpoint);
    endpoint?.flights.delete(flight);
    if (endpoint?.flights.size === 0) endpoints.delete(flight.endpoint);
    if (flight.local) local -= 1;
    return true;
  };

  /** The pace of an endpoint by its attempts under way: figures of answers come too late. */
  const paceNow = (known: Pace, own: Endpoint | undefined, now: number): Pace => {
    if (own === undefined || known === 'slow') return known;
    const late = count(own.flights, ({ deliveryId }) => now - (begun.get(deliveryId) ?? now) > SLOW_MS);
    return late >= (known === 'fast' ? SLOW_FLIGHTS : 1) ? 'slow' : known;
  };

  /** A fast endpoint whose local attempts are all under way waits for them; if they take long, it goes on with normal ones. */
  const roomOf = (
    { endpoint, pace, cap, localCap }: ReadyEndpoint,
    share: number,
    now: number,
  ): { room: number; local: boolean } => {
    const own = endpoints.get(endpoint)?.flights ?? new Set<Flight>();
    const most = Math.min(cap, share, pace === 'unproven' ? UNPROVEN_CAP : cap);
    const room = Math.max(0, most - Math.max(own.size, occupancy.size(endpoint)));
    const isStuck = (flight: Flight) => flight.local && now - flight.since > STUCK_MS;
    if (localCap === 0 || count(own, isStuck) > 0) return { room, local: false };
    const left = limits.local - local;
    // Stuck attempts of other endpoints hold most of the local slots.
    if (left <= 0 && count(flights.values(), isStuck) * 2 > limits.local) return { room, local: false };
    const locals = count(own, (flight) => flight.local);
    return { room: Math.max(0, Math.min(room, localCap - locals, left)), local: true };
  };

  return {
    add: (flight: Flight): void => {
      remove(flight.deliveryId);
      flights.set(flight.deliveryId, flight);
      const { endpoint: id, tenantId, pace } = flight;
      const endpoint = endpoints.get(id) ?? { tenantId, pace, flights: new Set() };
      endpoint.pace = pace;
      endpoint.flights.add(flight);
      occupancy.add(id, flight.deliveryId);
      endpoints.set(id, endpoint);
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
     * The attempts that each endpoint with work may begin: up to its cap, and up to its share of its tenant's slots for endpoints of the
     * same pace that have attempts in flight or work.
     * @returns endpoints with their present pace, and the slots that are left to the process and to each tenant
     */
    rooms: (
      ready: readonly ReadyEndpoint[],
      now: number,
    ): { endpoints: SlotRoom[]; free: Room; tenantRoom: (tenantId: string) => Room } => {
      let free = limits.total;
      const tenants = new Map<string, Room>();
      const contenders = new Map<string, Set<string>>();
      const contend = (tenantId: string, pace: Pace, endpoint: string) => {
        const key = `${tenantId} ${pace}`;
        contenders.set(key, (contenders.get(key) ?? new Set()).add(endpoint));
      };
      const waiting = ready.map((endpoint) => {
        const own = endpoints.get(endpoint.endpoint);
        if (own !== undefined) own.pace = endpoint.pace;
        return { ...endpoint, pace: paceNow(endpoint.pace, own, now) };
      });
      for (const { tenantId, pace, endpoint } of waiting) contend(tenantId, pace, endpoint);
      for (const [id, own] of endpoints) {
        const pace = paceNow(own.pace, own, now);
        contend(own.tenantId, pace, id);
        free = without(free, pace, own.flights.size);
        const left = tenants.get(own.tenantId) ?? limits.tenant;
        tenants.set(own.tenantId, without(left, pace, own.flights.size));
      }
      const shareOf = ({ tenantId, pace }: ReadyEndpoint): number =>
        Math.max(1, Math.floor(limits.tenant[pace] / (contenders.get(`${tenantId} ${pace}`)?.size ?? 1)));
      return {
        endpoints: waiting.map((endpoint) => ({ ...endpoint, ...roomOf(endpoint, shareOf(endpoint), now) })),
        free,
        tenantRoom: (tenantId) => tenants.get(tenantId) ?? limits.tenant,
      };
    },

    /** Flights that began before `since`: their attempts were made by another process, or not at all. */
    olderThan: (since: number): Flight[] => [...flights.values()].filter((flight) => flight.since < since),
  };
}

export type Slots = ReturnType<typeof createSlots>;

function count<T>(items: Iterable<T>, matches: (item: T) => boolean): number {
  let total = 0;
  for (const item of items) if (matches(item)) total += 1;
  return total;
}
