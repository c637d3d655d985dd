// Every scenario in turn, as one run.
import { SCENARIOS } from './scenarios.mjs';

const PARTS = {
  tokens: ['tokens'],
  refresh: ['refresh'],
  introspection: ['introspection'],
  challenges: ['challenges'],
  deliveries: ['deliveries'],
  'deliveries, 50/s': ['deliveries', { rate: 50, seconds: 10, rounds: 1 }],
  flaky: ['deliveries', { scenario: 'flaky', rate: 100, seconds: 5 }],
  away: ['deliveries', { scenario: 'away', rate: 100, seconds: 10 }],
  noisy: ['deliveries', { scenario: 'noisy', seconds: 30, deliveries: 5_000 }],
  crash: ['deliveries', { scenario: 'crash', deliveries: 2_000 }],
};

/** @returns the figures of each by its title */
export async function measureAll(options) {
  const figures = {};
  for (const [title, [name, own]] of Object.entries(PARTS)) {
    const chosen = { ...options, ...own };
    figures[title] = await SCENARIOS[name].measure(chosen);
    process.stderr.write(`${SCENARIOS[name].describe(figures[title], chosen)}\n\n`);
  }
  return figures;
}
