// Questions that gauges share: asked once a scrape, not for ever, and not at all while nobody answers.
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { isAway, translateDatabaseError } from '../../../src/platform/database/errors.ts';
import { createGauges } from '../../../src/platform/metrics/gauges.ts';
import { createReadings } from '../../../src/platform/metrics/reading.ts';

/** A clock that stands still until a test moves it. */
function createClock() {
  let time = 0;
  const pass = (ms: number): void => {
    time += ms;
  };
  return { now: () => time, pass };
}

const createReading = <P extends Readonly<Record<string, () => Promise<unknown>>>>(
  parts: P,
  options: Parameters<typeof createReadings>[0] = {},
) => createReadings(options)(parts);

describe('a reading', () => {
  it('asks each question once however many want to know, one after the other', async () => {
    const asked: string[] = [];
    let underWay = 0;
    const ask = (name: string) => async () => {
      expect(underWay).toBe(0);
      underWay += 1;
      await Promise.resolve();
      underWay -= 1;
      asked.push(name);
      return name.length;
    };
    const read = createReading({ one: ask('one'), three: ask('three') });
    expect(await Promise.all([read('three'), read('one'), read('three')])).toEqual([5, 3, 5]);
    expect(asked).toEqual(['three', 'one']);
  });

  it('answers from memory for as long as asking took twenty times, and at least a second', async () => {
    const clock = createClock();
    let asked = 0;
    const takes = { ms: 10 };
    const read = createReading(
      {
        count: async () => {
          clock.pass(takes.ms);
          asked += 1;
          return asked;
        },
      },
      { clock: clock.now },
    );
    expect(await read('count')).toBe(1);
    clock.pass(999);
    expect(await read('count')).toBe(1);
    clock.pass(2);
    takes.ms = 500;
    expect(await read('count')).toBe(2);
    clock.pass(9_999);
    expect(await read('count')).toBe(2);
    clock.pass(2);
    expect(await read('count')).toBe(3);
  });

  it('knows nothing of what failed, asks it again immediately, and keeps the rest', async () => {
    const clock = createClock();
    let away = true;
    const read = createReading(
      {
        broken: () => (away ? Promise.reject(new Error('away')) : Promise.resolve('back')),
        whole: async () => 'here',
      },
      { clock: clock.now },
    );
    expect([await read('broken'), await read('whole')]).toEqual([undefined, 'here']);
    away = false;
    expect(await read('broken')).toBe('back');
  });

  it.each([
    ['never ends', () => new Promise<never>(() => undefined)],
    ['fails', () => Promise.reject(new Error('canceling statement due to statement timeout'))],
  ])('answers at each scrape what can be answered, beside a question that %s', async (_, endless) => {
    const clock = createClock();
    let asked = 0;
    const read = createReading(
      {
        endless,
        count: async () => {
          asked += 1;
          return asked;
        },
      },
      { clock: clock.now, limits: { patience: 200, turn: 10 } },
    );
    for (let scrape = 1; scrape <= 3; scrape += 1) {
      expect(await Promise.all([read('endless'), read('count')])).toEqual([undefined, scrape]);
      expect(await read('count')).toBe(scrape);
      clock.pass(1_001);
    }
    expect(asked).toBe(3);
  });

  it('lets a question that failed rest for as long as it took twenty times, and five minutes at most', async () => {
    const clock = createClock();
    const takes = { ms: 600 };
    let asked = 0;
    const read = createReading(
      {
        failing: async () => {
          asked += 1;
          clock.pass(takes.ms);
          throw new Error('canceling statement due to statement timeout');
        },
        whole: async () => 'here',
      },
      { clock: clock.now },
    );
    const ask = async (after: number) => {
      clock.pass(after);
      expect([await read('failing'), await read('whole')]).toEqual([undefined, 'here']);
      return asked;
    };
    expect(await ask(0)).toBe(1);
    expect(await ask(0)).toBe(1);
    expect(await ask(11_999)).toBe(1);
    takes.ms = 60_000;
    expect(await ask(1)).toBe(2);
    expect(await ask(299_999)).toBe(2);
    expect(await ask(1)).toBe(3);
  });

  it('asks again immediately what failed because the database is away: that has cost it nothing', async () => {
    const clock = createClock();
    const away = translateDatabaseError(new Error('Query read timeout'));
    const slow = translateDatabaseError(Object.assign(new Error('statement timeout'), { code: '57014' }));
    let error = away;
    let asked = 0;
    const read = createReading(
      {
        failing: async () => {
          asked += 1;
          clock.pass(6_000);
          throw error;
        },
      },
      { clock: clock.now, isAway },
    );
    await read('failing');
    error = slow;
    await read('failing');
    expect(asked).toBe(2);
    await read('failing');
    expect(asked).toBe(2);
  });

  it('does not wait for longer than it has patience, and asks no second time meanwhile', async () => {
    let answer: (text: string) => void = () => undefined;
    let asked = 0;
    const read = createReading(
      {
        slow: () => {
          asked += 1;
          return new Promise<string>((resolve) => {
            answer = resolve;
          });
        },
      },
      { limits: { patience: 20 } },
    );
    expect([await read('slow'), await read('slow')]).toEqual([undefined, undefined]);
    expect(asked).toBe(1);
    answer('late');
    expect(await read('slow')).toBe('late');
    expect(asked).toBe(1);
  });
});

describe('a gauge that is read', () => {
  it('is there with what was read, and not there while nothing was', async () => {
    const registry = new Registry();
    let source: { open: number; seconds: number | null } | undefined = { open: 3, seconds: null };
    const define = createGauges({ registry, read: async () => source });
    define({ name: 'endpoints', help: 'Endpoints.', labelNames: ['state'] }, ({ open }) => [
      [{ state: 'open' }, open],
    ]);
    define({ name: 'age', help: 'Age.' }, ({ seconds }) => [[{}, seconds]]);
    const samples = async () => (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line));
    expect(await samples()).toEqual(['endpoints{state="open"} 3']);
    source = { open: 0, seconds: 7 };
    expect(await samples()).toEqual(['endpoints{state="open"} 0', 'age 7']);
    source = undefined;
    expect(await samples()).toEqual([]);
  });
});
