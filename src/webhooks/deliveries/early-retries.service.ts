// Counts the deliveries of an endpoint that wait for an early retry in workflows of their own, as far as this process
// has recorded their failures.
import { createBoundedCache } from '../../platform/bounded-cache.ts';

/** Endpoints, of which the least recently failing are forgotten. */
const MOST_ENDPOINTS = 10_000;

/** @param now milliseconds of any steady clock */
export function createEarlyRetries(now: () => number = () => performance.now()) {
  const dues = createBoundedCache<readonly number[]>({ limit: MOST_ENDPOINTS });
  const ofEndpoint = (subscriptionId: string) => {
    const time = now();
    return (dues.peek(subscriptionId) ?? []).filter((due) => due > time);
  };
  return {
    count: (subscriptionId: string): number => ofEndpoint(subscriptionId).length,
    /** Notes retries that workflows of their own make, by the milliseconds until they are due. */
    note: (subscriptionId: string, delaysMs: readonly number[]): void => {
      const time = now();
      dues.set(subscriptionId, [...ofEndpoint(subscriptionId), ...delaysMs.map((delay) => time + delay)]);
    },
  };
}

export type EarlyRetries = ReturnType<typeof createEarlyRetries>;
