// The fuzzer: changes inputs of the corpus, and keeps those that reach a branch, or a branch more often, than all
// before.
import { corpusOf } from './corpus.ts';
import { createDice, mutate } from './mutations.ts';
import type { Target } from './target.ts';
import { compared, counts } from './trace.ts';

/** `broke`: the smallest input found for the first failure. */
export type Findings = {
  readonly executions: number;
  readonly branches: number;
  readonly found: readonly Uint8Array[];
  readonly broke?: { readonly bytes: Uint8Array; readonly error: unknown };
};

/** A run adds at most so many inputs to the corpus of a target, because `npm test` runs them all. */
const MOST_KEPT = 16;

/** Which powers of two of its count each branch has reached: one bit for each. */
const reached = new Uint8Array(counts.length);
const words = new Uint32Array(counts.buffer);

/**
 * Runs one target for some seconds, or until it fails.
 * @param seed determines the inputs, as far as the time allows
 */
export async function fuzz(
  target: Target,
  { seconds, seed }: { seconds: number; seed: number },
): Promise<Findings> {
  const dice = createDice(seed);
  const corpus = corpusOf(target).map(({ bytes }) => bytes);
  const found: Uint8Array[] = [];
  const end = performance.now() + seconds * 1_000;
  let executions = 0;
  reached.fill(0);

  const attempt = async (bytes: Uint8Array): Promise<{ isNew: boolean; error?: unknown }> => {
    executions += 1;
    words.fill(0);
    try {
      const running = target.run(bytes);
      if (running !== undefined) await running;
      return { isNew: recordBranches() };
    } catch (error) {
      return { isNew: false, error };
    }
  };
  const summary = () => ({
    executions,
    branches: reached.reduce((sum, bits) => sum + (bits === 0 ? 0 : 1), 0),
    found,
  });

  for (const bytes of corpus) {
    const { error } = await attempt(bytes);
    if (error !== undefined) return { ...summary(), broke: { bytes, error } };
  }
  while (performance.now() < end) {
    for (let round = 0; round < 256; round += 1) {
      // Late inputs are the newest branches, so they are chosen more often.
      const index = Math.max(dice(corpus.length), dice(corpus.length));
      const bytes = mutate(corpus[index] ?? new Uint8Array(), dice, corpus, compared);
      const { isNew, error } = await attempt(bytes);
      if (error !== undefined) {
        const least = await shrink(bytes, async (smaller) => (await attempt(smaller)).error !== undefined);
        return { ...summary(), broke: { bytes: least, error: (await attempt(least)).error } };
      }
      if (!isNew) continue;
      corpus.push(bytes);
      found.push(bytes);
    }
  }
  const { branches } = summary();
  return { executions, branches, found: await distill(found) };

  /** The shortest inputs that reach together what all have reached. */
  async function distill(all: readonly Uint8Array[]): Promise<Uint8Array[]> {
    reached.fill(0);
    for (const { bytes } of corpusOf(target)) await attempt(bytes);
    const kept: Uint8Array[] = [];
    for (const bytes of all.toSorted((left, right) => left.length - right.length))
      if (kept.length < MOST_KEPT && (await attempt(bytes)).isNew) kept.push(bytes);
    return kept;
  }
}

function recordBranches(): boolean {
  let isNew = false;
  for (let word = 0; word < words.length; word += 1) {
    if (words[word] === 0) continue;
    for (let branch = word * 4; branch < word * 4 + 4; branch += 1) {
      const count = counts[branch] ?? 0;
      if (count === 0) continue;
      const bit = 1 << (31 - Math.clz32(count));
      if (((reached[branch] ?? 0) & bit) !== 0) continue;
      reached[branch] = (reached[branch] ?? 0) | bit;
      isNew = true;
    }
  }
  return isNew;
}

/** Removes pieces, from half of the input to single bytes, as long as it still fails. */
async function shrink(
  bytes: Uint8Array,
  fails: (bytes: Uint8Array) => Promise<boolean>,
): Promise<Uint8Array> {
  let least = Buffer.from(bytes);
  for (let size = Math.ceil(least.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < least.length; ) {
      const smaller = Buffer.concat([least.subarray(0, at), least.subarray(at + size)]);
      if (await fails(smaller)) least = smaller;
      else at += size;
    }
  }
  return least;
}
