// Which deliveries hold a place of their lane in this process: those that the relay has claimed, and attempts that workflows make by
// themselves. Pure: without it each would fill the lane up to its cap on its own.

/** @returns places of lanes, by delivery; a delivery that is entered twice holds one place until it has left twice */
export function createLaneOccupancy() {
  const lanes = new Map<string, Map<string, number>>();

  const add = (lane: string, deliveryId: string): void => {
    const own = lanes.get(lane) ?? new Map<string, number>();
    own.set(deliveryId, (own.get(deliveryId) ?? 0) + 1);
    lanes.set(lane, own);
  };

  return {
    add,

    /** Takes a place if there is one, or if the delivery has one already. @param cap places that the lane has */
    enter: (lane: string, deliveryId: string, cap: number): boolean => {
      const own = lanes.get(lane);
      if (own !== undefined && !own.has(deliveryId) && own.size >= cap) return false;
      add(lane, deliveryId);
      return true;
    },

    leave: (lane: string, deliveryId: string): void => {
      const own = lanes.get(lane);
      const held = own?.get(deliveryId);
      if (own === undefined || held === undefined) return;
      if (held > 1) own.set(deliveryId, held - 1);
      else own.delete(deliveryId);
      if (own.size === 0) lanes.delete(lane);
    },

    /** Places that are taken. */
    size: (lane: string): number => lanes.get(lane)?.size ?? 0,
  };
}

export type LaneOccupancy = ReturnType<typeof createLaneOccupancy>;
