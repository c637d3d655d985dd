// The daily account of a tenant's deliveries: each accepted one is delivered, waiting, held, failed or canceled. A
// difference is a loss.

/** Numbers of deliveries by their state; `stranded`: unfinished, and no workflow and no relay will move them. */
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
 * `day`: of acceptance, UTC, `2026-11-21`. `difference`: accepted, less all the others but the stranded. 0 when nothing
 * was lost.
 */
export type DeliveryAccount = AccountNumbers & {
  readonly day: string;
  readonly difference: number;
  readonly countedAt: Date;
};

/** An account that does not add up. */
export type WrongAccount = TenantNumbers & { readonly day: string; readonly difference: number };

const NUMBERS = ['accepted', 'delivered', 'waiting', 'held', 'failed', 'canceled', 'stranded'] as const;

/** Adds numbers of the same tenants together. */
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
