// The places of endpoints that are taken in this process, by the relay's claims and by attempts of workflows together:
// each alone would fill an endpoint up to its cap. Pure.

/**
 * @returns places of endpoints, by delivery; a delivery that is entered twice holds one place until it has left twice
 */
export function createEndpointOccupancy() {
  const endpoints = new Map<string, Map<string, number>>();

  const add = (endpoint: string, deliveryId: string): void => {
    const own = endpoints.get(endpoint) ?? new Map<string, number>();
    own.set(deliveryId, (own.get(deliveryId) ?? 0) + 1);
    endpoints.set(endpoint, own);
  };

  return {
    add,

    /** Takes a place if there is one, or if the delivery has one already. @param cap places that the endpoint has */
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
    },

    /** Places that are taken. */
    size: (endpoint: string): number => endpoints.get(endpoint)?.size ?? 0,
  };
}

export type EndpointOccupancy = ReturnType<typeof createEndpointOccupancy>;
