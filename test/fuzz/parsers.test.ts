// Every parser of input from outside keeps its promises for the corpus, and for inputs that fast-check makes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { corpusOf } from './corpus.ts';
import { createDice, mutate } from './mutations.ts';
import { TARGETS } from './targets.ts';

/** Any bytes, any text, and changed inputs of the corpus. */
const inputsOf = (corpus: readonly Uint8Array[]) =>
  fc.oneof(
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 96 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.nat(), fc.nat())
        .map(([index, seed]) =>
          mutate(corpus[index % corpus.length] ?? Buffer.of(), createDice(seed), corpus, []),
        ),
    },
  );

describe.each(TARGETS)('$name', (target) => {
  const corpus = corpusOf(target);

  it(`takes the ${corpus.length} inputs of its corpus`, async () => {
    for (const { name, bytes } of corpus)
      await expect(Promise.resolve(bytes).then(target.run), name).resolves.toBeUndefined();
  });

  it('takes what fast-check makes', async () => {
    const inputs = inputsOf(corpus.map(({ bytes }) => bytes));
    await fc.assert(
      fc.asyncProperty(inputs, async (bytes) => target.run(bytes)),
      { numRuns: 500 },
    );
  });
});
