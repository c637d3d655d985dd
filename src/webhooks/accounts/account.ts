// The daily account of a tenant's deliveries: how many were accepted, and how many are now in each state. A difference
// means that deliveries were lost.

/** Numbers of deliveries by state. A stranded delivery is unfinished, and no workflow and no relay will continue it. */
export type AccountNumbers = {
  readonly accepted: number;
  readonly delivered: number;
  readonly waiting: number;
  readonly held: number;
  readonly failed: number;
  readonly canceled: number;
  readonly stranded: number;
};

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

const NUMBERS = ['accepted', 'delivered', 'waiting', 'held', 'failed', 'canceled', 'stranded'] as const;

/** Adds the numbers of each tenant. */
export function addNumbers(parts: readonly TenantNumbers[]): TenantNumbers[] {
  const sums = new Map<string, TenantNumbers>();
  for (const part of parts) {
    const before = sums.get(part.tenantId);
    const sum = before === undefined ? part : { ...part, ...sumOf(before, part) };
    sums.set(part.tenantId, sum);
  }
  return [...sums.values()];
}

function sumOf(one: AccountNumbers, other: AccountNumbers): AccountNumbers {
  const [accepted = 0, delivered = 0, waiting = 0, held = 0, failed = 0, canceled = 0, stranded = 0] =
    NUMBERS.map((name) => one[name] + other[name]);
  return { accepted, delivered, waiting, held, failed, canceled, stranded };
}
