// Counts of requests that processes share: how far they agree, what they cost, and what holds without the database.
import { describe, expect, it } from 'vitest';
import { createDatabase } from '../../../src/platform/database/database.ts';
import { createLimitCounts } from '../../../src/platform/http/limit-counts.ts';
import { useTestDatabase } from '../../setup/database.ts';

type Counts = ReturnType<typeof createProcess>['counts'];

let time = 0;
const test = await useTestDatabase();

/** The counts of one process, with a clock of their own; `errors` and the number of `queries` are what it caused. */
function createProcess(database: Pick<typeof test.database, 'query'> = test.database) {
  const seen = { errors: [] as unknown[], queries: 0 };
  const counts = createLimitCounts({
    database: {
      query: (text, values) => {
        seen.queries += 1;
        return database.query(text, values);
      },
    },
    log: { warn: (line) => seen.errors.push(line) },
    now: () => time,
  });
  return { counts, seen };
}

const open = (counts: Counts, name: string, points: number, window = 60_000) => {
  const counter = counts.open({ name, points, window });
  return (key = 'k', cost = 1) => counter.spend(key, cost);
};

describe('the counts of two processes', () => {
  it.each([
    [2, 100],
    [4, 100],
    [2, 7],
  ])(
    'of %i processes together admit a limit of %i, and at most a twentieth of it more for each',
    async (processes, points) => {
      const name = `together-${processes}-${points}`;
      const all = Array.from({ length: processes }, () => createProcess());
      const spend = all.map(({ counts }) => open(counts, name, points));
      let admitted = 0;
      for (let round = 0; round < 2 * points; round += 1) {
        for (const one of spend) if (one().isAdmitted) admitted += 1;
        await Promise.all(all.map(({ counts }) => counts.settled()));
      }
      expect(admitted).toBeGreaterThanOrEqual(points);
      expect(admitted).toBeLessThanOrEqual(points + processes * Math.ceil(points / 20));
    },
  );

  it('tell what the others used, and when the window of the first one ends', async () => {
    time = 0;
    const [one, two] = [createProcess(), createProcess()];
    const [here, there] = [open(one.counts, 'told', 10), open(two.counts, 'told', 10)];
    here('k', 4);
    await one.counts.settled();
    time = 20_000;
    there('k', 3);
    await two.counts.settled();
    expect(there('k', 1)).toMatchObject({ isAdmitted: true, used: 8 });
    // The database's clock has hardly moved since the first one was told.
    expect(there('k', 4).milliseconds).toBeGreaterThan(50_000);
    expect(there('k', 4)).toMatchObject({ isAdmitted: false, used: 8 });
    expect(there('other', 4)).toMatchObject({ isAdmitted: true, used: 4 });
  });

  it('begin anew when the window has ended, for all', async () => {
    const [one, two] = [createProcess(), createProcess()];
    const [here, there] = [open(one.counts, 'anew', 3), open(two.counts, 'anew', 3)];
    time = 0;
    expect(here('k', 3).isAdmitted).toBe(true);
    await one.counts.settled();
    there();
    await two.counts.settled();
    expect(there().isAdmitted).toBe(false);
    await test.database.query('UPDATE rate_limits SET expire = 0');
    time = 61_000;
    expect([here('k', 2), there('k', 1)].map(({ used }) => used)).toEqual([2, 1]);
    await Promise.all([one.counts.settled(), two.counts.settled()]);
    expect([here('k', 1), there('k', 1)].filter(({ isAdmitted }) => isAdmitted)).toHaveLength(1);
  });
});

describe('a count', () => {
  it('costs a statement for each twentieth of the limit, shared by keys, and nothing for what is refused', async () => {
    const { counts, seen } = createProcess();
    const spend = open(counts, 'cheap', 1_000);
    for (let index = 0; index < 49; index += 1) spend();
    await counts.settled();
    expect(seen.queries).toBe(0);
    for (let key = 0; key < 100; key += 1) spend(`k${key}`, 50);
    await counts.settled();
    expect(seen.queries).toBe(1);
    for (let index = 0; index < 951; index += 1) spend();
    await counts.settled();
    const before = seen.queries;
    for (let index = 0; index < 1_000; index += 1) expect(spend().isAdmitted).toBe(false);
    await counts.settled();
    expect(seen.queries).toBe(before);
  });

  it('goes on alone while the database is down, says so once, and is shared again when it is back', async () => {
    const away = createDatabase({
      url: 'postgres://127.0.0.1:1/none',
      pool: 1,
      applicationName: 'away',
      limits: { connect: 300 },
    });
    let isDown = true;
    const { counts, seen } = createProcess({
      query: (text, values) => (isDown ? away : test.database).query(text, values),
    });
    const spend = open(counts, 'down', 20);
    time = 0;
    for (let index = 0; index < 10; index += 1) {
      expect(spend().isAdmitted).toBe(true);
      await counts.settled();
      time += 1_001;
    }
    expect(seen.errors).toHaveLength(1);
    isDown = false;
    spend();
    await counts.settled();
    const other = createProcess();
    const spendThere = open(other.counts, 'down', 20);
    spendThere();
    await other.counts.settled();
    expect(spendThere().used).toBe(13);
    for (let index = 0; index < 20; index += 1) spend();
    expect(spend().isAdmitted).toBe(false);
    await away.close();
  });

  it('remembers a bounded number of keys', () => {
    const { counts } = createProcess();
    const spend = open(counts, 'many', 100);
    time = 0;
    spend('first');
    for (let key = 0; key < 100_000; key += 1) spend(`k${key}`);
    expect(spend('first').used).toBe(1);
    expect(spend('k99999').used).toBe(2);
  });
});
