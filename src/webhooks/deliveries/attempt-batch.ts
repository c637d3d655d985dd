// Batches of POSTs that are recorded together. Pure.
import type { AttemptReport } from './attempt.ts';

type Made = { readonly report: AttemptReport };

/** The most POSTs of one batch, whose joins compare each of them with each. */
export const MOST_RECORDED = 64;

export const sizeOfMade = ({ report }: Made) => ({
  rows: 1,
  bytes: 500 + (report.responseExcerpt?.length ?? 0),
});

/**
 * Records a batch with the first POST of each delivery, because one statement records a delivery only once.
 * @param record gives the results in the order of its POSTs
 * @returns the results in the order of the batch; undefined for a further POST of a delivery, which the next batch
 *   records
 */
export async function recordFirstOfEach<Item extends Made, Result>(
  batch: readonly Item[],
  record: (sent: readonly Item[]) => Promise<readonly (Result | undefined)[]>,
): Promise<(Result | undefined)[]> {
  const first = new Map([...batch].reverse().map((one) => [one.report.deliveryId, one]));
  const sent = batch.filter((one) => first.get(one.report.deliveryId) === one);
  const recorded = await record(sent);
  const results = new Map(sent.map((one, index) => [one, recorded[index]]));
  return batch.map((one) => results.get(one));
}
