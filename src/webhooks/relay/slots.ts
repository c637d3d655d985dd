// What this relay has handed over and what has not been attempted yet. Pure: time comes in as milliseconds of any steady clock.

/** One delivery between its claim and the end of its attempt. `attempts`: how many it had when it was claimed. */
export type Flight = {
  readonly deliveryId: string;
  readonly tenantId: string;
  readonly lane: string;
  readonly local: boolean;
  readonly attempts: number;
  readonly since: number;
};

export type SlotLimits = {
  /** In flight at most, in this process. */
  readonly total: number;
  /** Of those for one tenant. */
  readonly tenant: number;
  /** Attempts inside workflow tasks. */
  readonly local: number;
};

/** A local attempt that takes longer than this is not one of a fast receiver. */
const STUCK_MS = 250;

export function createSlots(limits: SlotLimits) {
  const flights = new Map<string, Flight>();
  const lanes = new Map<string, Set<Flight>>();
  const tenants = new Map<string, number>();
  let local = 0;

  const remove = (deliveryId: string): boolean => {
    const flight = flights.get(deliveryId);
    if (flight === undefined) return false;
    flights.delete(deliveryId);
    const lane = lanes.get(flight.lane);
    lane?.delete(flight);
    if (lane?.size === 0) lanes.delete(flight.lane);
    const count = (tenants.get(flight.tenantId) ?? 1) - 1;
    if (count === 0) tenants.delete(flight.tenantId);
    else tenants.set(flight.tenantId, count);
    if (flight.local) local -= 1;
    return true;
  };

  return {
    add: (flight: Flight): void => {
      remove(flight.deliveryId);
      flights.set(flight.deliveryId, flight);
      const lane = lanes.get(flight.lane) ?? new Set();
      lanes.set(flight.lane, lane.add(flight));
      tenants.set(flight.tenantId, (tenants.get(flight.tenantId) ?? 0) + 1);
      if (flight.local) local += 1;
    },

    /** @returns false when it was not in flight here */
    remove,

    get: (deliveryId: string): Flight | undefined => flights.get(deliveryId),
    size: (): number => flights.size,
    free: (): number => Math.max(0, limits.total - flights.size),
    tenantRoom: (tenantId: string): number => Math.max(0, limits.tenant - (tenants.get(tenantId) ?? 0)),

    /**
     * How many more attempts a lane may have, and whether they run inside workflow tasks. While a fast lane's local attempts
     * are all under way it waits for them; if they take long, it goes on with normal ones.
     * @param cap of the lane
     * @param localCap as `localAttemptsOf` says; 0: none
     */
    laneRoom: (
      lane: string,
      cap: number,
      localCap: number,
      now: number,
    ): { room: number; local: boolean } => {
      const own = lanes.get(lane);
      const room = Math.max(0, cap - (own?.size ?? 0));
      if (localCap === 0) return { room, local: false };
      const locals = own === undefined ? [] : [...own].filter((flight) => flight.local);
      if (locals.some((flight) => now - flight.since > STUCK_MS)) return { room, local: false };
      return { room: Math.min(room, localCap - locals.length, limits.local - local), local: true };
    },

    /** Flights that began before `since`: whoever made their attempts has not told us. */
    olderThan: (since: number): Flight[] => [...flights.values()].filter((flight) => flight.since < since),
  };
}

export type Slots = ReturnType<typeof createSlots>;
