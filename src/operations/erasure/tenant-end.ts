// The end of a tenant: until when it can be restored, and the step that is due.

/** Days for which a tenant that ends can be restored. */
export const GRACE_DAYS = 30;

/** The longest wait in milliseconds before the row is read again. */
const LONGEST_WAIT = 86_400_000;

export type TenantEnd = {
  readonly tenantId: string;
  readonly slug: string;
  readonly askedAt: Date;
  readonly eraseAt: Date;
  readonly removed: Readonly<Record<string, number>>;
  /** The database's time of the reading. */
  readonly now: Date;
};

export type EndStep =
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'erase' }
  | { readonly kind: 'end' };

/** @param end undefined: the tenant was restored or is erased */
export function decideEndStep(end: Pick<TenantEnd, 'eraseAt' | 'now'> | undefined): EndStep {
  if (end === undefined) return { kind: 'end' };
  const left = end.eraseAt.getTime() - end.now.getTime();
  return left > 0 ? { kind: 'wait', delayMs: Math.min(left, LONGEST_WAIT) } : { kind: 'erase' };
}
