import { expect, it } from 'vitest';
import { createPause } from '../../../src/webhooks/relay/pause.ts';

it('is longer after each failure in a row, up to five seconds, and over after a success', () => {
  let now = 0;
  const pause = createPause(() => now);
  expect(pause.left()).toBe(0);
  const lengths = Array.from({ length: 8 }, () => {
    pause.begin();
    pause.begin();
    const left = pause.left();
    now += left;
    return left;
  });
  expect(lengths).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  pause.begin();
  pause.end();
  expect(pause.left()).toBe(0);
  pause.begin();
  expect(pause.left()).toBe(100);
  now += 100;
  pause.begin();
  expect(pause.left()).toBe(200);
  now += 6_000;
  pause.begin();
  expect(pause.left()).toBe(100);
});
