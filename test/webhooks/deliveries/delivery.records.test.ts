// What lists of deliveries read: never more of a tenant's deliveries than they show, whatever they are asked for.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as store from '../../../src/webhooks/deliveries/delivery-record.store.ts';
import { createTestDatabase } from '../../setup/database.ts';

type Plan = { 'Rows Removed by Filter'?: number; Plans?: Plan[] };

const removedBy = (plan: Plan): number =>
  (plan['Rows Removed by Filter'] ?? 0) +
  (plan.Plans ?? []).reduce((sum, below) => sum + removedBy(below), 0);

describe('a list of deliveries', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  const tenantId = randomUUID();

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.database.query(
      `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status)
       SELECT (substr(uuid_of_time(now())::text, 1, 24) || lpad(to_hex(g), 12, '0'))::uuid, $1, $2, gen_random_uuid(), g,
         CASE WHEN g < 5 THEN 'org.member.added' ELSE 'org.created' END, 'delivered'
       FROM generate_series(1, 5000) AS g`,
      [tenantId, randomUUID()],
    );
    await database.database.query('ANALYZE deliveries');
  });
  afterAll(() => database.drop());

  it.each(['org.member.added', 'org.never.happened'])('of %s reads those alone', async (eventType) => {
    let removed: number | undefined;
    const explained = {
      query: async <Row extends object>(text: string, values?: readonly unknown[]) => {
        const plan = `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`;
        const { rows } = await database.database.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(plan, values);
        removed = rows[0] && removedBy(rows[0]['QUERY PLAN'][0].Plan);
        return { rows: [] as Row[], rowCount: 0 };
      },
    };
    await store.list(explained, { tenantId }, { limit: 50, eventType });
    expect(removed).toBeLessThan(50);
  });
});
