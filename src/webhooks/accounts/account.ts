// The daily account of a tenant's deliveries: how many were accepted, and how many are now in each state. A difference
// means that deliveries were lost.

/** Numbers of deliveries by state. A stranded delivery is unfinished, and no workflow and no relay will continue it. */
export const NUMBERS = [
  'accepted',
  'delivered',
  'waiting',
  'held',
  'failed',
  'canceled',
  'stranded',
] as const;
export type AccountNumbers = Readonly<Record<(typeof NUMBERS)[number], number>>;

export type TenantNumbers = AccountNumbers & { readonly tenantId: string };

/**
 * `day` is the UTC day of acceptance (`2026-11-21`). `difference` is `accepted` less the sum of delivered, waiting,
 * held, failed and canceled; 0 when no delivery was lost.
 */
export type DeliveryAccount = AccountNumbers & {
  readonly day: string;
  readonly difference: number;
  readonly countedAt: Date;
};

export type WrongAccount = TenantNumbers & { readonly day: string; readonly difference: number };
