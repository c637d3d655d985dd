// Long work in steps: what runs without a pause, and what others can do between.
import { expect, it } from 'vitest';
import { mapInRounds, runInRounds, runSteps } from '../../src/platform/steps.ts';

it('steps run to their end without a pause, or to their failure', () => {
  function* count(fails: boolean): Generator<void, number, void> {
    yield;
    yield;
    if (fails) throw new Error('in the third step');
    return 3;
  }
  expect(runSteps(count(false))).toBe(3);
  expect(() => runSteps(count(true))).toThrow('in the third step');
});

it('steps in rounds leave the event loop to others between two of them', async () => {
  const order: string[] = [];
  function* count(): Generator<void, number, void> {
    for (const step of ['first', 'second']) {
      order.push(step);
      setImmediate(() => order.push(`after the ${step}`));
      yield;
    }
    return 2;
  }
  expect(await runInRounds(count())).toBe(2);
  expect(order).toEqual(['first', 'after the first', 'second', 'after the second']);
});

it.each([
  [0, 1],
  [20, 1],
  [21, 2],
  [500, 25],
])('%i items, 20 in a round of the event loop, take %i', async (count, expected) => {
  let rounds = 1;
  const goRound = (): void => {
    rounds += 1;
    next = setImmediate(goRound);
  };
  let next = setImmediate(goRound);
  const items = Array.from({ length: count }, (_, n) => n);
  const seen = await mapInRounds(items, 20, (item, index) => [item, index, rounds] as const);
  clearImmediate(next);
  expect(seen.map(([item, index]) => item * 2 - index)).toEqual(items);
  expect(seen.at(-1)?.[2] ?? 1).toBe(expected);
  const inOne = seen.filter(([, , round]) => round === 1).length;
  expect(inOne).toBe(Math.min(20, count));
});
