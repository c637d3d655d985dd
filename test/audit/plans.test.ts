// The plans of the audit log's statements on a log of a size that makes a wrong one show.

import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import type { AuditFilters } from '../../src/audit/audit.ts';
import { countHours, listQuery } from '../../src/audit/audit-reading.store.ts';
import * as store from '../../src/audit/checkpoint.store.ts';
import { BEGINNING } from '../../src/audit/checkpoint.ts';
import { createCheckpointSigner } from '../../src/audit/checkpoint-signature.node.ts';
import { createVerificationStore } from '../../src/audit/verification.store.ts';
import { AUDIT_KEYS, useTestDatabase } from '../setup/database.ts';
import { beginEarlier, createSealing } from './sealing.ts';

const ROWS = 120_000;
const TENANTS = 20;
const KEY_ID = createCheckpointSigner({ auditKeys: AUDIT_KEYS }).keyId;

const test = await useTestDatabase();
await beginEarlier(test.database, 4);
const filler = new pg.Client({ connectionString: test.url });
await filler.connect();
await filler.query(
  `INSERT INTO audit_log (id, tenant_id, occurred_at, action, outcome, actor_kind, actor_id, target_type, target_id, key_id,
         token_id, address, request_id, data, xid)
       SELECT (substr(uuid_of_time(now() - (${ROWS} - i) * interval '2 s')::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid,
         md5((i % ${TENANTS})::text)::uuid, now() - (${ROWS} - i) * interval '2 s',
         (ARRAY['auth.verify', 'auth.challenge', 'agent.created'])[1 + i % 3], CASE WHEN i % 9 = 0 THEN 'failure' ELSE 'success' END,
         'agent', md5('a' || i % 500)::uuid::text, 'agent', md5('a' || (i + i % 7 % 2) % 500)::uuid::text, md5('k' || i % 700)::uuid, gen_random_uuid()::text,
         '192.0.2.1', gen_random_uuid()::text, '{"scope": "openid profile"}', (10 + i / 300)::text::xid8
       FROM generate_series(1, ${ROWS}) AS i`,
);
await filler.query('VACUUM ANALYZE audit_log');
await filler.end();
const { rows } = await test.database.query<{ id: string }>("SELECT md5('3')::uuid AS id");
const tenantId = rows[0]?.id ?? '';

afterAll(() => test?.drop());

/** Runs a statement, and says which indexes it used and how many 8 KiB pages it read. */
async function explain(text: string, values: readonly unknown[] = []) {
  const { rows } = await test.database.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (ANALYZE, BUFFERS) ${text}`,
    values,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const [, hit = '0', read = '0'] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
  return { plan, pages: Number(hit ?? 0) + Number(read ?? 0) };
}

/** A connection that explains every statement before it runs it. */
function explaining() {
  const plans: Awaited<ReturnType<typeof explain>>[] = [];
  const query = async <Row extends object>(
    text: string,
    values?: readonly unknown[],
    members?: 'camelCase',
  ) => {
    plans.push(await explain(text, values));
    return test.database.query<Row>(text, values, members);
  };
  return { plans, query };
}

describe('on a log of 120,000 rows', () => {
  const someRow = async () =>
    (
      await test.database.query<
        Record<'request_id' | 'token_id' | 'key_id' | 'actor_id' | 'target_id', string>
      >('SELECT * FROM audit_log WHERE tenant_id = $1 ORDER BY id LIMIT 1 OFFSET 500', [tenantId])
    ).rows[0];

  it('a page is read by an index, whatever it asks for', async () => {
    const row = await someRow();
    const filters: AuditFilters[] = [
      {},
      { outcome: 'failure' },
      { requestId: row?.request_id },
      { tokenId: row?.token_id },
      { keyId: row?.key_id },
      { actorId: row?.actor_id },
      { targetType: 'agent', targetId: row?.target_id },
      { requestId: 'none' },
      { actorId: 'nobody' },
      { since: new Date(Date.now() - 60_000), action: 'auth.verify' },
      { until: new Date(Date.now() - 172_800_000) },
    ];
    for (const filter of filters) {
      const { statement, values } = listQuery(tenantId, { limit: 50, ...filter });
      const { plan, pages } = await explain(statement.text ?? '', values);
      expect(plan).not.toContain('Seq Scan');
      expect(pages, `${JSON.stringify(filter)}\n${plan}`).toBeLessThan(1_300);
    }
  });

  it('a page of an actor has its rows on itself and on others, in one order, and goes on after a cursor', async () => {
    const row = await someRow();
    const page = async (cursor?: string) => {
      const { statement, values } = listQuery(tenantId, { limit: 7, actorId: row?.actor_id, cursor });
      return statement(test.database, ...values);
    };
    const { rows } = await test.database.query<{ id: string; own: boolean }>(
      'SELECT id, actor_id = target_id AS own FROM audit_log WHERE tenant_id = $1 AND actor_id = $2 ORDER BY id DESC',
      [tenantId, row?.actor_id],
    );
    expect(new Set(rows.map(({ own }) => own))).toEqual(new Set([true, false]));
    const first = await page();
    const ids = rows.map(({ id }) => id);
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 8));
    const second = await page(first[6]?.id);
    expect(second.map(({ id }) => id)).toEqual(ids.slice(7, 15));
  });

  it('asking for something to seal, and reading it, goes by position from where the last seal ended', async () => {
    const connection = explaining();
    expect(await store.hasWork(connection, KEY_ID)).toBe(true);
    const [first] = await store.listFinishedRows(connection, BEGINNING, 1);
    const middle = { xid: '200', id: first?.id ?? '' };
    expect(await store.listFinishedRows(connection, middle, 1_000)).toHaveLength(1_000);
    expect(connection.plans).toHaveLength(3);
    for (const { plan, pages } of connection.plans) {
      expect(plan).toContain('audit_log_by_position');
      expect(plan).not.toMatch(/Seq Scan on audit_log|Sort/);
      expect(pages).toBeLessThan(300);
    }
  });

  it("is sealed in seals of 10,000, verified by a tenant's own pages, and then costs next to nothing", async () => {
    const sealing = createSealing(test.database);
    await sealing.sealAll();
    const head = await sealing.checkpoints.readHead(test.database);
    expect(head?.n).toBe(ROWS / 10_000);
    const connection = explaining();
    expect(await sealing.checkpoints.hasWork(connection, KEY_ID)).toBe(false);
    expect(await sealing.checkpoints.findUnsealed(connection, 0)).toMatchObject({ count: 0, seconds: 0 });
    expect(connection.plans).toHaveLength(2);
    for (const { plan, pages } of connection.plans) expect(pages, plan).toBeLessThan(20);
    expect(connection.plans[1]?.plan).toMatch(/Index Cond: \(ROW\(xid, id\) > ROW/);

    const reading = explaining();
    const store = createVerificationStore({ database: reading });
    const until = head?.last ?? BEGINNING;
    let rows = 0;
    for await (const row of store.rows(tenantId, until)) rows += row.xid === '' ? 0 : 1;
    expect(rows).toBe(ROWS / TENANTS);
    for (const { plan, pages } of reading.plans) {
      expect(plan).toContain('audit_log_by_tenant_position');
      expect(pages).toBeLessThan(1_300);
    }
    const { findings, report } = await sealing.verify();
    // The rows of the first seal are hours old: each tenant's are named once.
    expect(findings.map(({ kind }) => kind)).toEqual(Array(TENANTS).fill('first_seal_late'));
    expect(report).toMatchObject({ rows: ROWS, tenants: TENANTS });
  });

  it('the hours of a busy actor are counted from a bounded number of rows', async () => {
    const { rows } = await test.database.query<{ id: string }>(
      `WITH made AS (
         INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind, actor_id, target_id)
         SELECT (substr(uuid_of_time(now() - i * interval '1 s')::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid,
           md5('hours')::uuid, 'auth.token.issued', 'success', 'agent', 'busy', CASE WHEN i % 2 = 0 THEN 'busy' ELSE 'other' END
         FROM generate_series(1, 14400) AS i RETURNING tenant_id)
       SELECT DISTINCT tenant_id AS id FROM made`,
    );
    const connection = explaining();
    const found = await countHours(connection, rows[0]?.id ?? '', 'busy');
    expect(found.map(({ tokens }) => tokens).filter((tokens) => tokens === 1_000).length).toBeGreaterThan(1);
    const [read] = connection.plans;
    expect(read?.plan).toContain('audit_log_by_actor');
    expect(read?.plan).toContain('audit_log_by_target');
    expect(read?.pages).toBeLessThan(6_000);
  });

  it('a page without tokens does not read those between its entries', async () => {
    const { rows } = await test.database.query<{ id: string }>(
      `WITH made AS (
         INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind)
         SELECT (substr(uuid_of_time(now() - i * interval '1 s')::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid,
           md5('busy')::uuid, CASE WHEN i > 29990 THEN 'agent.created' ELSE 'auth.token.issued' END, 'success', 'application'
         FROM generate_series(1, 30000) AS i RETURNING tenant_id)
       SELECT DISTINCT tenant_id AS id FROM made`,
    );
    await test.database.query('ANALYZE audit_log');
    const { statement, values } = listQuery(rows[0]?.id ?? '', { limit: 50, tokens: 'false' });
    const { plan, pages } = await explain(statement.text ?? '', values);
    expect(plan).toMatch(/audit_log_without_tokens.*rows=10[. ]/s);
    expect(pages, plan).toBeLessThan(50);
  });
});
