// Episodes of brute force: begun once by however many processes count, and ended when failures have stopped.

import { describe, expect, it, vi } from 'vitest';
import { BruteForceService } from '../../src/audit/brute-force.service.ts';
import * as store from '../../src/audit/brute-force.store.ts';
import { createPatientDatabase, useTestDatabase } from '../setup/database.ts';

const test = await useTestDatabase();

type Process = BruteForceService;

const create = (limit?: number, database = test.database): Process =>
  new BruteForceService({ database, limit });
const fail = async (process: Process, name: string, times: number) => {
  const episodes: unknown[] = [];
  for (let count = 0; count < times; count += 1) episodes.push(await process.failed(name));
  return episodes.filter((episode) => episode !== undefined);
};
/** Lets time pass for what the database keeps of a name. */
const pass = (name: string, seconds: number) =>
  test.database.query('UPDATE rate_limits SET expire = expire - $2::bigint * 1000 WHERE key LIKE $1', [
    `%:${name}`,
    seconds,
  ]);

describe('an episode', () => {
  it('begins with the tenth failure within a minute, and is given once', async () => {
    expect(await fail(create(), 'tenth', 9)).toEqual([]);
    expect(await fail(create(), 'tenth', 1)).toEqual([{ failures: 10, windowSeconds: 60 }]);
    expect(await fail(create(), 'tenth', 30)).toEqual([]);
    expect(await fail(create(), 'another', 9)).toEqual([]);
  });

  it('is one while failures go on, for however many minutes', async () => {
    const process = create();
    await fail(process, 'long', 10);
    for (let minute = 0; minute < 5; minute += 1) {
      await pass('long', 45);
      expect(await fail(process, 'long', 12)).toEqual([]);
    }
  });

  it('goes on with few failures too, which alone would begin none', async () => {
    const process = create();
    await fail(process, 'few', 10);
    for (let minute = 0; minute < 3; minute += 1) {
      await pass('few', 45);
      expect(await fail(process, 'few', 1)).toEqual([]);
    }
    await pass('few', 45);
    expect(await fail(process, 'few', 12)).toEqual([]);
  });

  it('goes on with failures that a limiter refuses', async () => {
    await fail(create(), 'refused', 10);
    for (let minute = 0; minute < 3; minute += 1) {
      await pass('refused', 45);
      await create().goesOn('refused');
    }
    expect(await fail(create(), 'refused', 12)).toEqual([]);
    await create().goesOn('nobody');
    expect(await fail(create(), 'nobody', 10)).toHaveLength(1);
  });

  it('ends when failures have stopped for a minute; then there can be a new one', async () => {
    const process = create();
    await fail(process, 'ended', 10);
    await pass('ended', 61);
    expect(await fail(process, 'ended', 9)).toEqual([]);
    expect(await fail(process, 'ended', 1)).toEqual([{ failures: 10, windowSeconds: 60 }]);
  });

  it('needs ten within a minute', async () => {
    await fail(create(), 'slow', 9);
    await pass('slow', 61);
    expect(await fail(create(), 'slow', 9)).toEqual([]);
  });

  it('begins with fewer where the limiter in front lets fewer through', async () => {
    expect(await fail(create(3), 'strict', 3)).toEqual([{ failures: 3, windowSeconds: 60 }]);
    expect(await fail(create(100), 'lenient', 9)).toEqual([]);
    expect(await fail(create(0), 'off', 10)).toHaveLength(1);
  });

  it('is begun once by a hundred failures at the same time in two processes', async () => {
    const other = createPatientDatabase({ url: test.url, pool: 10, applicationName: 'other' });
    const both = [create(), create(0, other)] as const;
    const given = await Promise.all(
      Array.from({ length: 100 }, (_, index) => both[index % 2 === 0 ? 0 : 1].failed('race')),
    );
    expect(given.filter((episode) => episode !== undefined)).toHaveLength(1);
    await pass('race', 61);
    const again = await Promise.all(
      Array.from({ length: 100 }, (_, index) => both[index % 2 === 0 ? 0 : 1].failed('race')),
    );
    expect(again.filter((episode) => episode !== undefined)).toHaveLength(1);
    await other.close();
  });
});

it('failures that are refused cost at most one writing a second for each name', async () => {
  const written = vi.spyOn(store, 'prolong');
  const process = new BruteForceService({ database: test.database });
  await Promise.all(Array.from({ length: 500 }, () => process.goesOn('flood')));
  expect(written).toHaveBeenCalledTimes(1);
});
