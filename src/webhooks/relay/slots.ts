// The attempts that this relay has claimed and that have not ended. Pure: times are parameters, in milliseconds of any
// steady clock.
import { createEndpointOccupancy, type EndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import type { ReadyEndpoint } from './allocation.ts';
import { type Room, type Speed, without } from './slot-room.ts';

/**
 * A delivery from its claim to the end of its attempt. `attempts` is the number of its attempts at the claim. `placed`:
 * it has a place of its endpoint from the claim on; a woken delivery gets one when its attempt begins, since its
 * workflow may take long to do so.
 */
export type Flight = {
  readonly deliveryId: string;
  readonly tenantId: string;
  readonly endpoint: string;
  readonly speed: Speed;
  readonly attempts: number;
  readonly since: number;
  readonly placed?: boolean | undefined;
};

export type SlotLimits = {
  readonly total: Room;
  readonly tenant: Room;
};

type Contender = Pick<ReadyEndpoint, 'tenantId' | 'endpoint' | 'cap'> & { readonly speed: Speed };

/** A fast endpoint becomes slow when `SLOW_FLIGHTS` attempts exceed `SLOW_MS`; an unproven one after one attempt. */
const SLOW_MS = 1_000;
const SLOW_FLIGHTS = 4;

const UNPROVEN_CAP = 8;

type Endpoint = { tenantId: string; speed: Speed; readonly flights: Set<Flight> };

/**
 * Makes the slots of one relay. Endpoints that are not known to be fast get only a part of the slots of the process and
 * of their tenant. Slow endpoints get a smaller part, so that slots remain for new endpoints to prove their speed.
 * @param occupancy the taken places of endpoints, including those of attempts that workflows make
 */
export function createSlots(limits: SlotLimits, occupancy: EndpointOccupancy = createEndpointOccupancy()) {
  const flights = new Map<string, Flight>();
  const endpoints = new Map<string, Endpoint>();
  // The time at which an attempt began in this process. The wait before that is not the receiver's fault.
  const begun = new Map<string, number>();

  const remove = (deliveryId: string): boolean => {
    const flight = flights.get(deliveryId);
    if (flight === undefined) return false;
    flights.delete(deliveryId);
    begun.delete(deliveryId);
    if (flight.placed !== false) occupancy.leave(flight.endpoint, deliveryId);
    const endpoint = endpoints.get(flight.endpoint);
    endpoint?.flights.delete(flight);
    if (endpoint?.flights.size === 0) endpoints.delete(flight.endpoint);
    return true;
  };

  /** @returns the speed by the attempts under way, because the speed of answers would show a slow receiver too late */
  const speedNow = (known: Speed, own: Endpoint | undefined, now: number): Speed => {
    if (own === undefined || known === 'slow') return known;
    const late = count(own.flights, ({ deliveryId }) => now - (begun.get(deliveryId) ?? now) > SLOW_MS);
    return late >= (known === 'fast' ? SLOW_FLIGHTS : 1) ? 'slow' : known;
  };

  const roomOf = ({ endpoint, speed, cap }: Contender, share: number): number => {
    const most = Math.min(cap, share, speed === 'unproven' ? UNPROVEN_CAP : cap);
    const taken = Math.max(endpoints.get(endpoint)?.flights.size ?? 0, occupancy.size(endpoint));
    return Math.max(0, most - taken);
  };

  return {
    add: (flight: Flight): void => {
      remove(flight.deliveryId);
      flights.set(flight.deliveryId, flight);
      const { endpoint: id, tenantId, speed } = flight;
      const endpoint = endpoints.get(id) ?? { tenantId, speed, flights: new Set() };
      endpoint.speed = speed;
      endpoint.flights.add(flight);
      if (flight.placed !== false) occupancy.add(id, flight.deliveryId);
      endpoints.set(id, endpoint);
    },

    begin: (deliveryId: string, now: number): void => {
      if (flights.has(deliveryId)) begun.set(deliveryId, now);
    },

    /** Frees the slot of a delivery. @returns false when the delivery has none */
    remove,

    isFull: (): boolean => flights.size >= limits.total.fast,

    /**
     * Computes how many attempts each endpoint with work may begin: up to its cap, and up to its share of the tenant's
     * slots. The endpoints of the same speed with work or attempts under way share these slots equally.
     * @returns endpoints with their present speed, and the remaining slots of the process and of each tenant
     */
    rooms: <E extends Contender>(
      ready: readonly E[],
      now: number,
    ): { endpoints: (E & { room: number })[]; free: Room; tenantRoom: (tenantId: string) => Room } => {
      let free = limits.total;
      const tenants = new Map<string, Room>();
      const contenders = new Map<string, Set<string>>();
      const contend = (tenantId: string, speed: Speed, endpoint: string) => {
        const key = `${tenantId} ${speed}`;
        contenders.set(key, (contenders.get(key) ?? new Set()).add(endpoint));
      };
      const waiting = ready.map((endpoint) => {
        const own = endpoints.get(endpoint.endpoint);
        if (own !== undefined) own.speed = endpoint.speed;
        return { ...endpoint, speed: speedNow(endpoint.speed, own, now) };
      });
      for (const { tenantId, speed, endpoint } of waiting) contend(tenantId, speed, endpoint);
      for (const [id, own] of endpoints) {
        const speed = speedNow(own.speed, own, now);
        contend(own.tenantId, speed, id);
        free = without(free, speed, own.flights.size);
        const left = tenants.get(own.tenantId) ?? limits.tenant;
        tenants.set(own.tenantId, without(left, speed, own.flights.size));
      }
      const shareOf = ({ tenantId, speed }: Contender): number =>
        Math.max(1, Math.floor(limits.tenant[speed] / (contenders.get(`${tenantId} ${speed}`)?.size ?? 1)));
      return {
        endpoints: waiting.map((endpoint) => ({ ...endpoint, room: roomOf(endpoint, shareOf(endpoint)) })),
        free,
        tenantRoom: (tenantId) => tenants.get(tenantId) ?? limits.tenant,
      };
    },

    /** @returns deliveries claimed before `since`; their attempt was made by another process, or by no process */
    olderThan: (since: number): Flight[] => [...flights.values()].filter((flight) => flight.since < since),
  };
}

export type Slots = ReturnType<typeof createSlots>;

function count<T>(items: Iterable<T>, matches: (item: T) => boolean): number {
  let total = 0;
  for (const item of items) if (matches(item)) total += 1;
  return total;
}
