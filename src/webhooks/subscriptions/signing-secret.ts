// The life of a signing secret: when two overlap, and when the new one takes over. Pure: the clock stays in the
// database.

/** Seconds for which a delivery carries two signatures: 0 to 7 days, by default a day. */
export const OVERLAP = { least: 0, most: 604_800, usual: 86_400 } as const;

/** The longest wait of the workflow: then it reads the row again, should a signal be lost. */
const LONGEST_WAIT_MS = 86_400_000;

/** Secrets of one subscription as they are stored; both times by the database's clock. */
export type SecretCase = {
  /** End of the overlap; null while no rotation is under way. */
  readonly overlapEndsAt: Date | null;
  readonly now: Date;
};

/** The next step: none, waiting for the end of the overlap, or making the new secret the present one. */
export type SecretStep =
  | { readonly kind: 'end' }
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'finish' };

/** Whether deliveries carry two signatures: the new secret has not taken over yet. */
export function isOverlapping({ overlapEndsAt, now }: SecretCase): boolean {
  return overlapEndsAt !== null && overlapEndsAt > now;
}

/** The next step for a subscription's secrets; a wait is never longer than a day. */
export function decideSecretStep({ overlapEndsAt, now }: SecretCase): SecretStep {
  if (overlapEndsAt === null) return { kind: 'end' };
  const delayMs = overlapEndsAt.getTime() - now.getTime();
  return delayMs > 0 ? { kind: 'wait', delayMs: Math.min(delayMs, LONGEST_WAIT_MS) } : { kind: 'finish' };
}
