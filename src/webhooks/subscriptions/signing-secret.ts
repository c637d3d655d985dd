// The life of a signing secret: when a new one stands beside the old one, and when it takes over. Pure: the clock stays in the database.

/** Seconds for which a delivery carries two signatures: none at all up to 7 days, a day unless the request says otherwise. */
export const OVERLAP = { least: 0, most: 604_800, usual: 86_400 } as const;

/** Nobody signals this long: then the workflow looks by itself whether it has missed something. */
const LONGEST_WAIT_MS = 86_400_000;

/** Secrets of one subscription as they are stored; both times by the database's clock. */
export type SecretCase = {
  /** End of the overlap; null while no rotation is under way. */
  readonly overlapEndsAt: Date | null;
  readonly now: Date;
};

/** What is due: nothing, waiting for the end of the overlap, or writing down that the new secret has taken over. */
export type SecretStep =
  | { readonly kind: 'end' }
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'finish' };

/** Whether deliveries carry two signatures: the new secret has not taken over yet. */
export function isOverlapping({ overlapEndsAt, now }: SecretCase): boolean {
  return overlapEndsAt !== null && overlapEndsAt > now;
}

/** What is due for a subscription's secrets; a wait is never longer than a day. */
export function decideSecretStep({ overlapEndsAt, now }: SecretCase): SecretStep {
  if (overlapEndsAt === null) return { kind: 'end' };
  const delayMs = overlapEndsAt.getTime() - now.getTime();
  return delayMs > 0 ? { kind: 'wait', delayMs: Math.min(delayMs, LONGEST_WAIT_MS) } : { kind: 'finish' };
}
