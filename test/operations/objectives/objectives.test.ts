// What processes count of the objectives, how it adds up over processes, restarts and days, and what it says.
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { judgeObjectives, ObjectiveKeeper } from '../../../src/operations/objectives/objective.service.ts';
import * as store from '../../../src/operations/objectives/objective.store.ts';
import { createObjectives } from '../../../src/platform/metrics/objectives.ts';
import { useTestDatabase } from '../../setup/database.ts';

const { database } = await useTestDatabase();
const DAY = 86_400_000;

/** A process that counts, and that a test lets write. */
function startProcess(clock: { now: number }, query = database.query) {
  const registry = new Registry();
  const objectives = createObjectives({ registry });
  const keeper = new ObjectiveKeeper({ database: { query }, objectives, now: () => clock.now });
  return {
    registry,
    keep: keeper.keep,
    count: (good: number, bad: number) => {
      for (let n = 0; n < good; n += 1) objectives.note('tokens', 0.02);
      for (let n = 0; n < bad; n += 1) objectives.note('tokens', Number.POSITIVE_INFINITY);
    },
  };
}

const tokens = async () => (await store.sum(database)).get('tokens');
const rows = async () => {
  const text = 'SELECT day::text, total::int FROM objective_counts ORDER BY day, total';
  return (await database.query<{ day: string; total: number }>(text)).rows.map(({ total }) => total);
};

it('adds up processes, restarts and a statement whose answer was lost, each count once', async () => {
  const clock = { now: Date.now() };
  const [first, second] = [startProcess(clock), startProcess(clock)];
  first.count(10, 1);
  second.count(5, 0);
  await Promise.all([first.keep(), second.keep()]);
  expect(await tokens()).toEqual({ good: 15, total: 16 });

  first.count(2, 0);
  await first.keep();
  await first.keep();
  expect(await tokens()).toEqual({ good: 17, total: 18 });

  // A restart begins at 0.
  const restarted = startProcess(clock);
  restarted.count(3, 0);
  await restarted.keep();
  expect(await tokens()).toEqual({ good: 20, total: 21 });

  let losesAnswer = true;
  const lossy = startProcess(clock, (async (...asked: Parameters<typeof database.query>) => {
    const answer = await database.query(...asked);
    if (losesAnswer) throw new Error('the answer was lost');
    return answer;
  }) as typeof database.query);
  lossy.count(4, 1);
  await expect(lossy.keep()).rejects.toThrow('lost');
  losesAnswer = false;
  lossy.count(1, 0);
  await lossy.keep();
  expect(await tokens()).toEqual({ good: 25, total: 27 });
});

it('begins each day at nothing, shows 30 days, and deletes what is older than 35', async () => {
  await database.query('DELETE FROM objective_counts');
  const clock = { now: Date.now() - 40 * DAY };
  const process = startProcess(clock);
  for (const count of [1, 2, 4]) {
    process.count(count, 0);
    await process.keep();
    clock.now += DAY;
    // What was counted since the last write belongs to the day that has ended.
    process.count(10, 0);
    await process.keep();
  }
  clock.now = Date.now();
  await process.keep();
  process.count(7, 1);
  await process.keep();
  expect(await rows()).toEqual([11, 12, 14, 8]);
  expect(await tokens()).toEqual({ good: 7, total: 8 });
  expect(await store.purge(database, 100)).toBe(3);
  expect(await rows()).toEqual([8]);
});

it('writes nothing while nothing is counted', async () => {
  let statements = 0;
  const process = startProcess({ now: Date.now() }, (async (...asked: Parameters<typeof database.query>) => {
    statements += 1;
    return database.query(...asked);
  }) as typeof database.query);
  await process.keep();
  process.count(1, 0);
  await process.keep();
  await process.keep();
  expect(statements).toBe(1);
});

it('tells the metric what it counts, from zero on', async () => {
  const process = startProcess({ now: Date.now() });
  process.count(2, 1);
  const text = await process.registry.metrics();
  expect(text).toContain('countersign_objective_total{objective="tokens",outcome="good"} 2');
  expect(text).toContain('countersign_objective_total{objective="tokens",outcome="bad"} 1');
  expect(text).toContain('countersign_objective_total{objective="revocation",outcome="bad"} 0');
});

it.each([
  ['all of the budget', 1000, 1000, 1],
  ['half of it', 9995, 10000, 0.5],
  ['none of it', 999, 1000, 0],
  ['less than none', 998, 1000, -1],
])('says that %s is left', (_, good, total, left) => {
  const [standing] = judgeObjectives(new Map([['tokens', { good, total }]]));
  expect(standing).toMatchObject({ objective: 'tokens', promised: 0.999, seconds: 1, share: good / total });
  expect(standing?.budgetLeft).toBeCloseTo(left, 6);
});

it('says nothing of an objective of which nothing was counted', () => {
  const all = judgeObjectives(new Map());
  expect(all.map(({ objective }) => objective)).toEqual([
    'tokens',
    'acceptance',
    'first_attempts',
    'revocation',
  ]);
  for (const { share, budgetLeft } of all) expect([share, budgetLeft]).toEqual([null, null]);
});
