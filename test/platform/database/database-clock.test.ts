// What a process knows of the database's clock is never later than that clock, and close behind it, whatever clock the
// process has itself.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askTime, createDatabaseClock } from '../../../src/platform/database/database-clock.ts';

const START = 1_800_000_000_000;

/** A process whose clock is an hour ahead, and a database whose clock differs from it by as much as NTP allows. */
function createWorld(rate = 1) {
  const state = { elapsed: 0, set: 0 };
  const clock = createDatabaseClock({
    now: () => START + 3_600_000 + state.elapsed,
    monotonic: () => state.elapsed,
  });
  const time = () => START + state.set + state.elapsed * rate;
  const pass = (milliseconds: number) => {
    state.elapsed += milliseconds;
  };
  /** A request that reaches the database after `there`, and is answered after `back`. */
  const ask = (there: number, back: number) =>
    askTime(
      {
        query: async <Row extends object>() => {
          pass(there);
          const rows = [{ time: time() }];
          pass(back);
          return { rows: rows as Row[] };
        },
      },
      clock,
    );
  return { state, clock, time, pass, ask };
}

describe('the clock of the database, in a process whose own is an hour ahead', () => {
  it("is the process's own until the database has told its time", () => {
    const { clock } = createWorld();
    expect(clock.now()).toBe(START + 3_600_000);
  });

  it('is never later than it is, and behind it by the quickest answers of late', () => {
    const way = fc.integer({ min: 0, max: 5_000 });
    const step = fc.record({ there: way, back: way, rest: fc.integer({ min: 0, max: 60_000 }) });
    const rate = fc.constantFrom(0.9995, 1, 1.0005);
    return fc.assert(
      fc.asyncProperty(rate, fc.array(step, { minLength: 1 }), async (rate, steps) => {
        const { clock, time, pass, ask } = createWorld(rate);
        for (const { there, back, rest } of steps) {
          await ask(there, back);
          pass(rest);
          const behind = time() - clock.now();
          expect(behind).toBeGreaterThanOrEqual(0);
          expect(behind).toBeLessThanOrEqual(back + 0.0016 * (back + rest) + 2);
        }
      }),
    );
  });

  it('does not go back when an answer is late', async () => {
    const { clock, ask } = createWorld();
    await ask(1, 1);
    const before = clock.now();
    await ask(0, 4_000);
    expect(clock.now() - before).toBeGreaterThanOrEqual(3_995);
  });

  it.each([
    ['back', -600_000],
    ['ahead', 600_000],
  ])('follows the database, whose clock was set %s, with the next answer', async (_, set) => {
    const { state, clock, time, pass, ask } = createWorld();
    await ask(1, 1);
    pass(1_000);
    state.set = set;
    await ask(1, 1);
    expect(time() - clock.now()).toBeGreaterThanOrEqual(0);
    expect(time() - clock.now()).toBeLessThanOrEqual(3);
  });
});
