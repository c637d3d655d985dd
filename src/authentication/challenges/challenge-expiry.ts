// Buckets of time; the workflow of each bucket marks overdue challenges at its end. A request never depends on it.

/** Milliseconds of a bucket: a minute. The cost of a bucket does not grow with the number of challenges. */
export const BUCKET_LENGTH = 60_000;

/** Seconds from the expiry of a challenge to its mark: longer than a statement that uses it may still take. */
export const OVERDUE_SECONDS = 5;

/** A period in UTC: `name` is its beginning, `endsAt` is ISO 8601. */
export type Bucket = { readonly name: string; readonly endsAt: string };

/** The result of one call of the sweep. `more`: its time ended before its work. */
export type SweepResult = { readonly expired: number; readonly more: boolean };

/** The audit entries that were written: one for each of this many tenants, with this many challenges in all. */
export type SettleResult = { readonly tenants: number; readonly challenges: number };

/** The input of a bucket's workflow; `expired` and `asked` are carried over when it continues as new. */
export type ExpiryInput = Bucket & {
  /** Whether the server has the search attributes. */
  readonly indexed: boolean;
  readonly expired?: number | undefined;
  readonly asked?: OperatorRequest | undefined;
};

/** An operator's request for an immediate sweep. */
export type OperatorRequest = { readonly reason: string | null };

/**
 * The bucket of a time, and the next one.
 * @param now milliseconds since 1970
 * @param length milliseconds, whole seconds that divide a day
 */
export function bucketsAt(now: number, length = BUCKET_LENGTH): readonly [current: Bucket, next: Bucket] {
  const start = Math.floor(now / length) * length;
  return [bucketFrom(start, length), bucketFrom(start + length, length)];
}

function bucketFrom(start: number, length: number): Bucket {
  const text = new Date(start).toISOString();
  // The name is as precise as the length of the bucket needs: 2026-11-21T18:15Z.
  const name = `${text.slice(0, length % 60_000 === 0 ? 16 : 19)}Z`;
  return { name, endsAt: new Date(start + length).toISOString() };
}
