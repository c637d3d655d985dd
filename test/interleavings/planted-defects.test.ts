// The power of the schedules: each planted defect is found within a number of seeds, and by the same seed each time.
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFECTS } from './planted-defects.ts';
import { openTheatre } from './scenarios.ts';
import { isSame, runSeed } from './stage.ts';

/** A defect is found within so many seeds. */
const SEEDS = 400;

describe('a planted defect is found', () => {
  it.each(DEFECTS)(
    '$name',
    async ({ scenario, alter, shows, name, seed: known }) => {
      let isPlanted = false;
      const theatre = await openTheatre((text) => {
        const altered = alter(text);
        isPlanted ||= altered !== text;
        return altered;
      });
      onTestFinished(theatre.close);
      for (const seed of [known, ...Array.from({ length: SEEDS }, (_, next) => next)]) {
        const first = await runSeed(theatre.stage, theatre.scenarios[scenario], seed);
        expect(isPlanted, 'a statement has the text that it alters').toBe(true);
        if (!first.violations.some((violation) => shows.test(violation))) continue;
        const again = await runSeed(theatre.stage, theatre.scenarios[scenario], seed);
        expect(isSame(first, again)).toBe(true);
        expect(again.violations.length).toBe(first.violations.length);
        if (seed !== known) process.stdout.write(`${name}: seed ${seed} finds it, and no more ${known}\n`);
        return;
      }
      throw new Error(`not found within ${SEEDS} seeds`);
    },
    300_000,
  );
});
