// Failure counters, shared through Postgres.
import { describe, expect, it, vi } from 'vitest';
import { createFailureLimiter } from '../../../src/platform/http/failure-limiter.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { countAlone } from './counts.ts';

const test = await useTestDatabase();

const log = { warn: () => undefined };
const create = (prefix: string, points = 3, seconds = 60) =>
  createFailureLimiter({ database: test.database, counts: countAlone(), points, seconds, prefix, log });

describe('a failure limiter', () => {
  it('blocks a key after its failures, and only that key', async () => {
    const limiter = create('a');
    expect(await limiter.failed('k')).toEqual({ failures: 1, blocked: undefined });
    expect(await limiter.failed('k')).toEqual({ failures: 2, blocked: undefined });
    expect(await limiter.failed('k')).toEqual({ failures: 3, blocked: undefined });
    const { blocked } = await limiter.failed('k');
    expect(blocked?.retryAfterSeconds).toBeGreaterThan(50);
    expect(blocked?.headers).toEqual({
      ratelimit: `"a-failures";r=0;t=${blocked?.retryAfterSeconds}`,
      'ratelimit-policy': '"a-failures";q=3;w=60',
    });
    expect(await limiter.failed('other')).toMatchObject({ failures: 1 });
  });

  it('counts across processes', async () => {
    const [one, two] = [create('b'), create('b')];
    await one.failed('k');
    await two.failed('k');
    await one.failed('k');
    expect((await two.failed('k')).blocked).toBeDefined();
    expect((await one.failed('k')).blocked).toBeDefined();
    expect((await create('other').failed('k')).failures).toBe(1);
  });

  it('asks the database no more once a key is blocked', async () => {
    const limiter = create('c', 1);
    const query = vi.spyOn(test.database, 'query');
    await limiter.failed('k');
    expect(query).toHaveBeenCalledTimes(1);
    for (let index = 0; index < 5; index += 1) expect((await limiter.failed('k')).blocked).toBeDefined();
    expect(query).toHaveBeenCalledTimes(1);
    query.mockRestore();
  });

  it('starts anew when the window has ended', async () => {
    const limiter = create('d', 1, 1);
    await limiter.failed('k');
    await vi.waitFor(
      async () => expect(await limiter.failed('k')).toEqual({ failures: 1, blocked: undefined }),
      { ...PATIENCE, interval: 300 },
    );
  });

  it('is off at 0', async () => {
    const limiter = create('e', 0);
    for (let index = 0; index < 5; index += 1)
      expect(await limiter.failed('k')).toEqual({ failures: 0, blocked: undefined });
  });

  it('counts alone, and says so once, while the database is down', async () => {
    const warn = vi.fn();
    const limiter = createFailureLimiter({
      database: { query: () => Promise.reject(new Error('The database is away.')) },
      counts: countAlone(),
      points: 2,
      seconds: 60,
      prefix: 'f',
      log: { warn },
    });
    expect((await limiter.failed('k')).failures).toBe(1);
    expect((await limiter.failed('k')).failures).toBe(2);
    expect((await limiter.failed('k')).blocked).toBeDefined();
    expect(warn).toHaveBeenCalledTimes(1);
  });
});
