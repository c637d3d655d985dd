// What a read of the feed costs on a hundred thousand events of five days, whichever share of them is asked for.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { RowPlace } from '../../../src/platform/database/snapshot-position.ts';
import * as store from '../../../src/webhooks/intake/feed.store.ts';
import { FEED_START, NEWEST, positionAfterRow } from '../../../src/webhooks/intake/feed-cursor.ts';
import { useTestDatabase } from '../../setup/database.ts';

const EVENTS = 100_000;
const DAYS = 5;
const TENANT = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';

const test = await useTestDatabase();

const filler = new pg.Client({ connectionString: test.url });
await filler.connect();
for (let day = 0; day < DAYS; day += 1)
  await filler.query(`SELECT ensure_day_partition('events', current_date - ${day})`);
// Every second event is another tenant's. One of a thousand is rare.seen, one of ten some.seen.
await filler.query(
  `INSERT INTO events (id, tenant_id, event_id, type, occurred_at, created_at, body, xid)
     SELECT (substr(uuid_of_time(at)::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid,
       CASE WHEN i % 2 = 0 THEN '${TENANT}' ELSE gen_random_uuid() END, i::text,
       CASE WHEN i % 1000 = 8 THEN 'rare.seen' WHEN i % 10 = 2 THEN 'some.seen' ELSE 'common.seen' END,
       at, at, convert_to(repeat('x', 500), 'UTF8'), (10 + i / 300)::text::xid8
     FROM (SELECT i, now() - (${EVENTS} - i) * interval '${DAYS * 80_000} s' / ${EVENTS} AS at FROM generate_series(1, ${EVENTS}) AS i) AS each`,
);
await filler.query('VACUUM ANALYZE events');
await filler.end();

const positionAt = (row: { xid: bigint; id: string }) =>
  positionAfterRow(FEED_START, row, { unfinished: [] });

/** Reads a page of events, and says how many 8 KiB pages of the database that took. */
async function read(types: string[] | undefined, position = FEED_START, limit = 50) {
  let pages = 0;
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
    pages += Number(plan?.['Shared Hit Blocks']) + Number(plan?.['Shared Read Blocks']);
    return test.database.query<Row>(text, values, members);
  };
  const request = {
    after: position,
    floor: new Date(0),
    since: undefined,
    types: types && { exact: types, prefixes: ['nothing.', 'other.'] },
    limit,
    mostBytes: 256 * 1024,
  };
  await store.read({ query }, TENANT, request);
  pages = 0;
  const page = await store.read({ query }, TENANT, request);
  return { pages, page };
}

describe('a read of the feed with several types', () => {
  it.each([
    [['common.seen', 'some.seen'], 50, 300],
    [['common.seen', 'never.seen'], 50, 300],
    [['some.seen', 'rare.seen'], 50, 1_400],
    [['rare.seen', 'never.seen'], 10, 1_400],
    [['never.seen', 'nobodys.seen'], 0, 1_400],
  ])('for %j gives %i events out of fewer than %i pages', async (types, events, most) => {
    for (const position of [FEED_START, positionAt({ xid: 170n, id: TENANT })]) {
      const { pages, page } = await read(types, position);
      expect([page.events.length, page.hasMore]).toEqual([events, true]);
      expect(pages).toBeLessThan(most);
    }
  });

  it('goes through all of them, without a gap and without a repetition', async () => {
    const seen: string[] = [];
    let position = FEED_START;
    for (;;) {
      const { page } = await read(['some.seen', 'rare.seen'], position, 200);
      seen.push(...page.events.map(({ id }) => id));
      if (!page.hasMore || page.last === undefined) break;
      position = positionAt(page.last);
    }
    expect(seen).toHaveLength(EVENTS / 10 + EVENTS / 1_000);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('reads the index of positions of each day in order, and sorts nothing', async () => {
    const { rows } = await test.database.query<{ prosrc: string }>(
      "SELECT prosrc FROM pg_proc WHERE proname = 'event_feed' AND pronargs = 8",
    );
    const values = {
      tenant: `'${TENANT}'::uuid`,
      after_xid: "'0'::xid8",
      after_id: 'uuid_of_time(now())',
      open_xids: "'{}'::xid8[]",
      open_ids: "'{}'::uuid[]",
      low: "uuid_of_time('epoch')",
      since: 'NULL::timestamptz',
      most: '5000',
    };
    const body = Object.entries(values).reduce(
      (text, [name, value]) => text.replace(new RegExp(`(?<![._\\w])${name}\\b(?!\\()`, 'g'), value),
      rows[0]?.prosrc ?? '',
    );
    const plan = await test.database.transaction({}, async (unit) => {
      for (const setting of ['sort', 'bitmapscan', 'seqscan'])
        await unit.query(`SET LOCAL enable_${setting} = off`);
      const { rows: lines } = await unit.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (ANALYZE, BUFFERS) ${body}`,
      );
      return lines.map((line) => line['QUERY PLAN']).join('\n');
    });
    const merged = plan.slice(plan.lastIndexOf('Merge Append'));
    expect(merged.match(/Index Scan using events_\w*tenant_id_xid_id\w*/g)?.length).toBeGreaterThanOrEqual(
      DAYS,
    );
    expect(merged).not.toMatch(/-> {2}Sort|Seq Scan|Bitmap/);
  });
});

describe('a read of the newest events', () => {
  it('costs the same wherever it begins, reads the index backwards, and sorts no rows', async () => {
    const blocks: number[] = [];
    let plan = '';
    const readFrom = (before: RowPlace) =>
      test.database.transaction({}, async (unit) => {
        const query = async <Row extends object>(
          text: string,
          values?: readonly unknown[],
          members?: 'camelCase',
        ) => {
          if (!text.includes('LIMIT $8')) return unit.query<Row>(text, values, members);
          const { rows } = await unit.query<{ 'QUERY PLAN': string }>(
            `EXPLAIN (ANALYZE, BUFFERS) ${text}`,
            values,
          );
          plan = rows.map((line) => line['QUERY PLAN']).join('\n');
          const buffers = plan.match(/Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/);
          blocks.push(Number(buffers?.[1] ?? 0) + Number(buffers?.[2] ?? 0));
          return unit.query<Row>(text, values, members);
        };
        const request = { before, floor: new Date(0), since: undefined, types: undefined, limit: 50 };
        return store.readNewest({ query }, TENANT, { ...request, mostBytes: 256 * 1024 });
      });
    let before: RowPlace = NEWEST;
    for (const xid of [340n, 170n, 20n]) {
      const page = await readFrom(before);
      expect([page.events.length, page.hasMore]).toEqual([50, true]);
      before = { xid, id: page.events.at(-1)?.id ?? '' };
    }
    expect(Math.max(...blocks)).toBeLessThan(500);
    const scanned = plan.slice(plan.indexOf('Merge Append'), plan.indexOf('CTE matched'));
    expect(scanned).toMatch(/Index Scan Backward using events_\w*tenant_id_xid_id\w*/);
    expect(scanned).not.toMatch(/-> {2}Sort|Seq Scan|Bitmap/);
  });
});
