// Counts the taken places of each endpoint in this process. The relay's claims and the attempts of workflows share
// these places, so that together they do not exceed the endpoint's cap. Pure.
// docs/decisions/0015-rates-and-order.md

/** A delivery that has entered twice holds one place until it has left twice. */
export function createEndpointOccupancy() {
  const endpoints = new Map<string, Map<string, number>>();
  const queues = new Map<string, Set<() => void>>();

  const add = (endpoint: string, deliveryId: string): void => {
    const own = endpoints.get(endpoint) ?? new Map<string, number>();
    own.set(deliveryId, (own.get(deliveryId) ?? 0) + 1);
    endpoints.set(endpoint, own);
  };

  return {
    add,

    /** Takes a place unless other deliveries have taken all `cap` places. @returns whether the delivery has a place */
    enter: (endpoint: string, deliveryId: string, cap: number): boolean => {
      const own = endpoints.get(endpoint);
      if (own !== undefined && !own.has(deliveryId) && own.size >= cap) return false;
      add(endpoint, deliveryId);
      return true;
    },

    leave: (endpoint: string, deliveryId: string): void => {
      const own = endpoints.get(endpoint);
      const held = own?.get(deliveryId);
      if (own === undefined || held === undefined) return;
      if (held > 1) own.set(deliveryId, held - 1);
      else own.delete(deliveryId);
      if (own.size === 0) endpoints.delete(endpoint);
      for (const call of queues.get(endpoint) ?? []) {
        call();
        break;
      }
    },

    /**
     * Calls `callback` when a delivery leaves the endpoint; each delivery that leaves calls the oldest callback only.
     * @returns a function that takes the callback back
     */
    onLeave: (endpoint: string, callback: () => void): (() => void) => {
      const queue = queues.get(endpoint) ?? new Set();
      const end = () => {
        queue.delete(call);
        if (queue.size === 0) queues.delete(endpoint);
      };
      const call = () => {
        end();
        callback();
      };
      queues.set(endpoint, queue.add(call));
      return end;
    },

    size: (endpoint: string): number => endpoints.get(endpoint)?.size ?? 0,
  };
}

export type EndpointOccupancy = ReturnType<typeof createEndpointOccupancy>;
