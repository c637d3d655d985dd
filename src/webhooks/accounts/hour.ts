// The deliveries of an hour, by what became of them.

/** The hours that are kept and shown, the present one with them. */
export const HOURS = 24;
export const HOUR_MS = 3_600_000;

export const ENDS = ['delivered', 'failed', 'canceled', 'unfinished'] as const;
type Ends<Value> = Readonly<Record<(typeof ENDS)[number], Value>>;

/** What became of the deliveries of one subscription that were accepted in one hour, or in a part of it. */
export type DeliveryHour = Ends<number> & { readonly tenantId: string; readonly subscriptionId: string };

/** One that has deliveries; `subscriptionId` is null in the sum of a tenant. */
export type ListedHour = Ends<number> & { readonly subscriptionId: string | null; readonly hour: Date };

/** By hour, the oldest first. */
export type SubscriptionHours = Ends<readonly number[]> & { readonly subscriptionId: string | null };

/** @returns the begins of the last hours, the oldest first */
export const hoursUntil = (present: Date): Date[] =>
  Array.from({ length: HOURS }, (_, n) => new Date(present.getTime() - (HOURS - 1 - n) * HOUR_MS));

/** Puts hours into a row for each subscription, with zeros where there are no deliveries. */
export function arrangeHours(
  subscriptionIds: readonly (string | null)[],
  hours: readonly Date[],
  found: readonly ListedHour[],
): SubscriptionHours[] {
  const placeOf = (id: string | null, hour: Date) => `${id} ${hour.getTime()}`;
  const places = new Map(found.map((one) => [placeOf(one.subscriptionId, one.hour), one]));
  return subscriptionIds.map((subscriptionId) => {
    const ended = (end: (typeof ENDS)[number]) =>
      hours.map((hour) => places.get(placeOf(subscriptionId, hour))?.[end] ?? 0);
    return {
      subscriptionId,
      delivered: ended('delivered'),
      failed: ended('failed'),
      canceled: ended('canceled'),
      unfinished: ended('unfinished'),
    };
  });
}
