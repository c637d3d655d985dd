// Concurrent units, whose statements a seed orders: whatever the order, and whatever connection is lost, the rows
// agree. INTERLEAVING_SEEDS is how many seeds each scenario gets (24, or as many as reach each of its cases),
// INTERLEAVING_SEED one seed to replay.
import { afterAll, describe, expect, it } from 'vitest';
import { openTheatre, SCENARIOS } from './scenarios.ts';
import { isSame, type Result, runSeed, type Scenario } from './stage.ts';

const ONE = process.env.INTERLEAVING_SEED;
const SEEDS = Number(process.env.INTERLEAVING_SEEDS ?? 24);
const FIRST = Number(process.env.INTERLEAVING_FIRST ?? 0);
const IS_LONG = process.env.INTERLEAVING_SEEDS !== undefined;
/** Every so many seeds one is run again. */
const AGAIN = Number(process.env.INTERLEAVING_AGAIN ?? 6);
/** The most failures that are shown. */
const SHOWN = 3;

const theatre = await openTheatre();
afterAll(() => theatre.close());

const show = ({ seed, violations, trace }: Result) => `seed ${seed}\n${violations.join('\n')}\n${trace}`;

describe.each(SCENARIOS)('%s', (name) => {
  it.skipIf(ONE === undefined)(`seed ${ONE}`, async () => {
    const result = await runSeed(theatre.stage, theatre.scenarios[name], Number(ONE));
    process.stdout.write(`${show(result)}\n`);
    expect(result.violations).toEqual([]);
  });

  it.skipIf(ONE !== undefined)(
    'holds in every order, and a seed is the same order each time',
    async () => {
      const failed: Result[] = [];
      const changed: string[] = [];
      const scenario: Scenario = theatre.scenarios[name];
      const seeds = IS_LONG ? SEEDS : Math.max(SEEDS, scenario.least ?? 0);
      const begun = performance.now();
      for (let seed = FIRST; seed < FIRST + seeds; seed += 1) {
        const result = await runSeed(theatre.stage, scenario, seed);
        if (result.violations.length > 0) failed.push(result);
        if (seed % AGAIN > 0) continue;
        const again = await runSeed(theatre.stage, scenario, seed);
        if (!isSame(result, again)) changed.push(`seed ${seed}\n${result.trace}\n--\n${again.trace}`);
      }
      if (IS_LONG) {
        const pace = (seeds / ((performance.now() - begun) / 1_000)).toFixed(1);
        process.stdout.write(
          `${name}: ${seeds} seeds, ${pace}/s, ${failed.length} failed, ${changed.length} changed\n`,
        );
      }
      expect(failed.slice(0, SHOWN).map(show).join('\n\n')).toBe('');
      expect(changed.slice(0, SHOWN).join('\n\n')).toBe('');
    },
    3_600_000,
  );
});
