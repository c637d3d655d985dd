// Shares of the event loop's time: what a tenant's requests cost, and when its next one may begin.
import { expect, it } from 'vitest';
import { createTimeShares } from '../../../src/platform/http/time-shares.ts';

function open() {
  const state = { now: 1_000, active: 0 };
  const shares = createTimeShares({ now: () => state.now, active: () => state.active });
  const compute = (milliseconds: number): void => {
    state.now += milliseconds;
    state.active += milliseconds;
  };
  return { state, shares, compute };
}

it('a tenant that computes all the time may begin half as often as its requests take', () => {
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

it('the busy time is divided by the requests at work, so a tenant with one beside many waits for nothing', () => {
  const { state, shares, compute } = open();
  const ends = Array.from({ length: 7 }, () => shares.begin('loud'));
  for (let n = 0; n < 10; n += 1) {
    const end = shares.begin('quiet');
    compute(8);
    end();
    expect(shares.delay('quiet')).toBe(0);
  }
  for (const end of ends) end();
  // 70 ms of 80, whose double has to pass from the beginning on, less what was unused before.
  expect(shares.delay('loud')).toBeCloseTo(140 - 80 - 10);
  state.now += 50;
  expect(shares.delay('loud')).toBeCloseTo(0);
});

it('requests that begin together are charged before they have cost anything', () => {
  const { shares } = open();
  let begun = 0;
  for (; shares.delay('loud') === 0; begun += 1) shares.begin('loud');
  expect(begun).toBe(6);
});

it('time in which a request waits for others costs nothing', () => {
  const { state, shares } = open();
  const end = shares.begin('demo');
  state.now += 5_000;
  end();
  expect(shares.delay('demo')).toBe(0);
});

it('work in one piece is charged to its tenant, and to no request at work', () => {
  const { shares, compute, state } = open();
  const end = shares.begin('quiet');
  compute(100);
  shares.spend('loud', 100);
  end();
  expect([shares.delay('quiet'), shares.delay('loud')]).toEqual([0, 190]);
  state.now += 190;
  compute(5_000);
  shares.spend('loud', 5_000);
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
