// Shares of a process's computing time: what a tenant's requests cost, and when its next one may begin.
import { expect, it } from 'vitest';
import { createTimeShares } from '../../../src/platform/http/time-shares.ts';

function open() {
  const state = { now: 1_000, computed: 0 };
  const shares = createTimeShares({ now: () => state.now, computed: () => state.computed });
  const compute = (milliseconds: number): void => {
    state.now += milliseconds;
    state.computed += milliseconds;
  };
  return { state, shares, compute };
}

it('a tenant that computes without a pause may do so half of the time', () => {
  const { state, shares, compute } = open();
  let computed = 0;
  while (state.now < 11_000) {
    state.now += shares.delay('loud');
    const end = shares.begin('loud');
    compute(7);
    end();
    computed += 7;
  }
  expect(computed).toBeGreaterThan(4_900);
  expect(computed).toBeLessThan(5_100);
});

it('what was computed between two marks belongs to the tenant of the second', () => {
  const { shares, compute, state } = open();
  const ends = ['loud', 'quiet', 'loud', 'loud'].map((tenant) => shares.begin(tenant));
  for (const [n, end] of ends.entries()) {
    compute(n === 1 ? 1 : 20);
    end();
  }
  // 60 ms of 61, whose double has to pass from the beginning on, less what was unused before.
  expect(shares.delay('quiet')).toBe(0);
  expect(shares.delay('loud')).toBeCloseTo(120 - 61 - 10);
  compute(9);
  shares.mark();
  state.now += 40;
  expect(shares.delay('loud')).toBeCloseTo(0);
  compute(100);
  shares.mark('quiet');
  expect([shares.delay('quiet'), shares.delay('loud')]).toEqual([190, 0]);
});

it('requests that begin together are charged before they have cost anything', () => {
  const { shares } = open();
  let begun = 0;
  for (; shares.delay('loud') === 0; begun += 1) shares.begin('loud');
  expect(begun).toBe(6);
});

it('a tenant learns what its requests cost, and begins as many fewer together', () => {
  const { state, shares, compute } = open();
  for (let n = 0; n < 100; n += 1) {
    const end = shares.begin('loud');
    compute(8);
    end();
    state.now += 100;
  }
  let begun = 0;
  for (; shares.delay('loud') === 0; begun += 1) shares.begin('loud');
  expect(begun).toBe(1);
});

it('time in which a request waits for others costs nothing', () => {
  const { state, shares } = open();
  const end = shares.begin('demo');
  state.now += 5_000;
  end();
  expect(shares.delay('demo')).toBe(0);
});

it('one request delays the next ones by a second at most', () => {
  const { state, shares, compute } = open();
  compute(5_000);
  shares.mark('loud');
  expect(shares.delay('loud')).toBe(1_000);
  state.now += 1_000;
  expect(shares.delay('loud')).toBe(0);
});

it('a tenant without debt and work has no account', () => {
  const { state, shares } = open();
  const [first, second] = [shares.begin('demo'), shares.begin('demo')];
  expect(shares.size()).toBe(1);
  state.now += 100;
  first();
  expect(shares.size()).toBe(1);
  second();
  expect(shares.size()).toBe(0);
});
