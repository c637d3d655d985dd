// The scenarios by name: how each is measured and described. They import the build, so this file is imported when there
// is one.
import { describeAbuse, measureAbuse } from './abuse.mjs';
import { measureDeliveries } from './deliveries.mjs';
import * as describe from './describe.mjs';
import { measureGuard } from './guard.mjs';
import { measureNoisy } from './noisy.mjs';
import { ALGORITHMS } from './options.mjs';
import { measureRequests } from './requests.mjs';
import { measureSoak } from './soak.mjs';
import { reportGuard } from './verdict.mjs';

const requests = (scenario) => ({
  measure: (options) => measureRequests({ ...options, scenario, algorithm: 'ed25519' }),
  describe: (figures, options) => describe.requests(scenario, figures, options),
});

/**
 * Each has `measure`, from options to figures, and `describe`, from figures and options to text; `report`: a case as
 * Vitest reports it.
 */
export const SCENARIOS = {
  tokens: requests('tokens'),
  refresh: requests('refresh'),
  introspection: requests('introspection'),
  exchange: requests('exchange'),
  challenges: {
    measure: async (options) => {
      const figures = {};
      for (const algorithm of options.algorithm === undefined ? ALGORITHMS : [options.algorithm])
        figures[algorithm] = await measureRequests({ ...options, scenario: 'challenges', algorithm });
      return figures;
    },
    describe: (figures, options) =>
      Object.entries(figures)
        .map(([algorithm, one]) => describe.requests(`challenges, ${algorithm}`, one, options))
        .join('\n\n'),
  },
  deliveries: {
    measure: (options) => (options.scenario === 'noisy' ? measureNoisy : measureDeliveries)(options),
    describe: (figures, options) =>
      (options.scenario === 'noisy' ? describe.noisy : describe.deliveries)(figures, options),
  },
  soak: { measure: measureSoak, describe: describe.soak },
  guard: { measure: measureGuard, describe: describe.guard, report: reportGuard },
  abuse: { measure: measureAbuse, describe: describeAbuse },
};
