// Decides when two signing secrets overlap, and when the new one takes over. Pure: the clock stays in the database.

/** Seconds during which a delivery has two signatures: 0 to 7 days, a day by default. */
export const OVERLAP = { least: 0, most: 604_800, usual: 86_400 } as const;

/** The longest wait of the workflow, which then reads the row again in case a signal was lost. */
const LONGEST_WAIT_MS = 86_400_000;

/** The secrets' times in a subscription's row, by the database's clock. */
export type SecretCase = {
  readonly overlapEndsAt: Date | null;
  readonly now: Date;
};

export type SecretStep =
  | { readonly kind: 'end' }
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'finish' };

/** @returns whether deliveries have two signatures now */
export function isOverlapping({ overlapEndsAt, now }: SecretCase): boolean {
  return overlapEndsAt !== null && overlapEndsAt > now;
}

/** Decides the next step. A wait is at most a day. */
export function decideSecretStep({ overlapEndsAt, now }: SecretCase): SecretStep {
  if (overlapEndsAt === null) return { kind: 'end' };
  const delayMs = overlapEndsAt.getTime() - now.getTime();
  return delayMs > 0 ? { kind: 'wait', delayMs: Math.min(delayMs, LONGEST_WAIT_MS) } : { kind: 'finish' };
}
