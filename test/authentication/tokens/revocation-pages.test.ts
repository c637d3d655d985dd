// The pages in which revocations are read: none is missed, however transactions end and pages are cut; none grows.
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { RevocationService } from '../../../src/authentication/tokens/revocation.service.ts';
import * as store from '../../../src/authentication/tokens/revocation.store.ts';
import { createDatabaseClock } from '../../../src/platform/database/database-clock.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { SnapshotPosition } from '../../../src/platform/database/snapshot-position.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { openForeignTransaction } from '../../webhooks/intake/foreign-transaction.ts';

const test = await useTestDatabase();
const TENANT = newId();
const { POSITIONS } = store;

beforeEach(() => test.database.query('TRUNCATE revocations'));

const INSERT = `
INSERT INTO revocations (tenant_id, token_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`;

const claimsOf = (jti: string, tenantId = TENANT) => ({
  jti,
  sub: 'agent',
  client_id: 'application',
  tenant_id: tenantId,
  iat: 10,
});

/** Reads one page. @returns the next position, and whether there may be more */
async function readOn(position: SnapshotPosition, limit: number, read: string[]) {
  const { revocations, seen, last, hasMore } = await store.readPage(test.database, position, limit);
  read.push(...revocations.map(({ tokenId }) => tokenId ?? 'a principal'));
  const next =
    hasMore && last !== undefined
      ? POSITIONS.afterRow(position, last, seen)
      : POSITIONS.afterPage(position, last, seen);
  return { position: next, hasMore };
}

async function readAll(limit: number): Promise<string[]> {
  const read: string[] = [];
  for (let { position, hasMore } = await readOn(POSITIONS.start, limit, read); hasMore; )
    ({ position, hasMore } = await readOn(position, limit, read));
  return read;
}

describe('a reader of pages', () => {
  const WRITERS = 4;
  let writers: pg.Client[] = [];
  beforeAll(async () => {
    writers = Array.from({ length: WRITERS }, () => new pg.Client({ connectionString: test.url }));
    await Promise.all(writers.map((writer) => writer.connect()));
  });
  afterAll(() => Promise.all(writers.map((writer) => writer.end())));

  const which = fc.nat(WRITERS - 1);
  const step = fc.oneof(
    fc.record({ kind: fc.constant('begin' as const), which }),
    fc.record({ kind: fc.constant('write' as const), which, count: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constant('end' as const), which, commits: fc.boolean() }),
    fc.record({ kind: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 4 }) }),
  );

  it('gets each committed revocation once, and none of a transaction that was rolled back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        await test.database.query('TRUNCATE revocations');
        const open = new Map<pg.Client, string[]>();
        const committed: string[] = [];
        const read: string[] = [];
        let position = POSITIONS.start;
        const end = async (writer: pg.Client, commits: boolean) => {
          await writer.query(commits ? 'COMMIT' : 'ROLLBACK');
          if (commits) committed.push(...(open.get(writer) ?? []));
          open.delete(writer);
        };
        for (const one of steps) {
          const writer = one.kind === 'read' ? undefined : writers[one.which];
          if (one.kind === 'read') ({ position } = await readOn(position, one.limit, read));
          if (writer === undefined) continue;
          const written = open.get(writer);
          if (one.kind === 'begin' && written === undefined) {
            open.set(writer, []);
            await writer.query('BEGIN; SELECT pg_current_xact_id()');
          }
          if (one.kind === 'end' && written !== undefined) await end(writer, one.commits);
          for (let n = 0; one.kind === 'write' && n < one.count; n += 1) {
            const id = newId();
            (written ?? committed).push(id);
            await writer.query(INSERT, [TENANT, id]);
          }
        }
        for (const writer of [...open.keys()]) await end(writer, true);
        for (let hasMore = true; hasMore; ) ({ position, hasMore } = await readOn(position, 3, read));
        expect(read.toSorted()).toEqual(committed.toSorted());
        expect((await readAll(3)).toSorted()).toEqual(committed.toSorted());
      }),
      { numRuns: 40 },
    );
  });

  it('reads again nothing of a transaction that somebody leaves open, and waits for none', async () => {
    const rollBack = await openForeignTransaction();
    try {
      const [read, id] = [[] as string[], newId()];
      await test.database.query(INSERT, [TENANT, id]);
      const { position } = await readOn(POSITIONS.start, 10, read);
      await readOn(position, 10, read);
      expect(read).toEqual([id]);
    } finally {
      await rollBack();
    }
  });
});

/** A feed over the rows of this database, in pages of `limit`; `readPage` may be replaced. */
function startFeed(limit: number, readPage = store.readPage) {
  const read = vi.fn((...[queryable, position]: Parameters<typeof store.readPage>) =>
    readPage(queryable, position, limit),
  );
  const readOf = vi.fn(store.readOf);
  const failures: unknown[] = [];
  const feed = new RevocationService({
    store: { ...store, readPage: read, readOf },
    database: test.database,
    onError: (error) => failures.push(error),
    // The time stands still, so what was read once is young.
    clock: createDatabaseClock({ monotonic: () => 0 }),
  });
  feed.start();
  return { feed, read, readOf, failures };
}

describe('a process that starts', () => {
  const ids = Array.from({ length: 45 }, newId);
  const fill = async () => {
    for (const id of ids) await test.database.query(INSERT, [TENANT, id]);
  };

  it('asks the database until it has read to the end, and goes on after a page that failed where it was', async () => {
    await fill();
    let [calls, isHeld] = [0, true];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { feed, read, readOf, failures } = startFeed(10, async (...given) => {
      calls += 1;
      if (calls === 3) throw new Error('the third page is lost');
      if (calls === 5 && isHeld) await held;
      return store.readPage(...given);
    });
    await vi.waitUntil(() => calls === 5, PATIENCE);
    expect(await feed.isRevoked(claimsOf(ids.at(-1) ?? ''))).toBe(true);
    expect(await feed.isRevoked(claimsOf(newId()))).toBe(false);
    expect(readOf).toHaveBeenCalledTimes(2);
    isHeld = false;
    release();
    await vi.waitUntil(() => read.mock.calls.length >= 7, PATIENCE);
    await feed.isRevoked(claimsOf(newId()));
    const places = read.mock.calls.slice(0, 6).map(([, { id }]) => id);
    expect(places[3]).toBe(places[2]);
    expect(new Set(places).size).toBe(5);
    expect(failures).toHaveLength(1);
    expect(await feed.isRevoked(claimsOf(ids.at(-1) ?? ''))).toBe(true);
    await feed.close();
  });

  it('asks the database as long as there are rows of transactions that this cluster has not begun', async () => {
    await fill();
    await test.database.query(`UPDATE revocations SET xid = '9000000000' WHERE token_id = $1`, [ids[7]]);
    const { feed, read, readOf } = startFeed(100);
    await vi.waitUntil(() => read.mock.calls.length >= 2, PATIENCE);
    expect(await feed.isRevoked(claimsOf(ids[7] ?? ''))).toBe(true);
    expect(await feed.isRevoked(claimsOf(newId()))).toBe(false);
    expect(readOf).toHaveBeenCalledTimes(2);
    await feed.close();
  });

  it('keeps no more of a tenant than its share, and asks the database of what was left out alone', async () => {
    const other = newId();
    await test.database.query(
      `INSERT INTO revocations (tenant_id, token_id, expires_at)
       SELECT $1, gen_random_uuid(), now() + interval '1 hour' FROM generate_series(1, 30000)`,
      [TENANT],
    );
    const beyond = newId();
    await test.database.query(INSERT, [TENANT, beyond]);
    await test.database.query(INSERT, [other, newId()]);
    const { feed, read, readOf } = startFeed(20_000);
    await vi.waitUntil(() => read.mock.calls.length >= 3, PATIENCE);
    expect(await feed.isRevoked(claimsOf(newId(), other))).toBe(false);
    expect(readOf).not.toHaveBeenCalled();
    expect(await feed.isRevoked(claimsOf(beyond))).toBe(true);
    expect(await feed.isRevoked(claimsOf(newId()))).toBe(false);
    expect(readOf).toHaveBeenCalledTimes(1);
    await feed.close();
  });
});

describe('with three hundred thousand revocations', () => {
  const ROWS = 300_000;

  /** Reads a page of the usual size, and says how many 8 KiB pages of the database that took. */
  async function measure(position: SnapshotPosition) {
    let blocks = 0;
    const query = async <Row extends object>(
      text: string,
      values?: readonly unknown[],
      members?: 'camelCase',
    ) => {
      const { rows } = await test.database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        values,
      );
      const plan = rows[0]?.['QUERY PLAN'][0].Plan;
      blocks = Number(plan?.['Shared Hit Blocks']) + Number(plan?.['Shared Read Blocks']);
      return test.database.query<Row>(text, values, members);
    };
    const page = await store.readPage({ query }, position);
    return { blocks, page };
  }

  it('no page reads more than its rows, wherever it begins and whatever has expired', async () => {
    const filler = new pg.Client({ connectionString: test.url });
    await filler.connect();
    // Of three hundred transactions; the rows of the first half have expired.
    await filler.query(
      `INSERT INTO revocations (tenant_id, token_id, expires_at, xid)
       SELECT $1, gen_random_uuid(), now() + interval '1 hour' * (i - ${ROWS / 2}), (10 + i / 1000)::text::xid8
       FROM generate_series(1, ${ROWS}) AS i`,
      [TENANT],
    );
    await filler.query('VACUUM ANALYZE revocations');
    const { rows } = await filler.query<{ least: string }>('SELECT min(id)::text AS least FROM revocations');
    await filler.end();
    const least = Number(rows[0]?.least);
    const at = (n: number) => ({
      xid: BigInt(10 + Math.floor(n / 1000)),
      id: String(least + n - 1),
      open: [],
    });
    // Two transactions of before had not ended when the position was taken, and have since.
    const behind = { ...at(200_000), open: [20n, 21n].map((xid) => ({ xid, id: '0' })) };
    for (const position of [POSITIONS.start, at(100_000), at(299_500), behind]) {
      await measure(position);
      const { blocks, page } = await measure(position);
      expect(page.revocations.length).toBe(position.xid === 309n ? 500 : 2_000);
      expect(blocks).toBeLessThan(400);
    }
    const { rows: functions } = await test.database.query<{ body: string }>(
      "SELECT prosrc AS body FROM pg_proc WHERE proname = 'revocation_page'",
    );
    const values = {
      after_xid: "'100'::xid8",
      after_id: "'0'::bigint",
      open_xids: "'{20,21}'::xid8[]",
      open_ids: "'{0,0}'::bigint[]",
      most: '2000',
    };
    const body = Object.entries(values).reduce(
      (text, [name, value]) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), value),
      functions[0]?.body ?? '',
    );
    const plan = await test.database.transaction({}, async (unit) => {
      for (const setting of ['sort', 'bitmapscan']) await unit.query(`SET LOCAL enable_${setting} = off`);
      const lines = await unit.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${body}`);
      return lines.rows.map((line) => line['QUERY PLAN']).join('\n');
    });
    expect(plan.match(/Index Scan using revocations_by_position/g)).toHaveLength(2);
    expect(plan).not.toMatch(/Seq Scan|Bitmap/);
  });
});
