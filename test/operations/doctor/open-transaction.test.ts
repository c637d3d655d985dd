// What keeps the sealer back is named: the oldest transaction that is open in the cluster, of any role.
import { afterAll, describe, expect, it, vi } from 'vitest';
import { findOldestOpen } from '../../../src/audit/open-transaction.store.ts';
import { createOpenTransactionCheck } from '../../../src/operations/doctor/rows.check.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { openForeignTransaction } from '../../webhooks/intake/foreign-transaction.ts';
import { createWebhookRooms } from '../../webhooks/webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

/** Other files share the cluster, and may have an older one for a moment. */
const findForeign = (queryable: Queryable) =>
  vi.waitUntil(async () => {
    const open = await findOldestOpen(queryable);
    return open?.database === 'postgres' ? open : undefined;
  }, PATIENCE);

describe('the oldest open transaction', () => {
  it('is that of another database, with its role, its pid and its age', async () => {
    const close = await openForeignTransaction();
    try {
      const { rows } = await rooms.database.query<{ pid: string; role: string }>(
        "SELECT pid::text, usename AS role FROM pg_stat_activity WHERE application_name = 'a stranger'",
      );
      const found = await findForeign(rooms.database);
      expect(rows).toContainEqual({ pid: found.pid, role: found.role });
      expect(found.seconds).toBeGreaterThan(0);
    } finally {
      await close();
    }
  });

  it('has an age also for a role that may not see when a stranger began: that of a row written since', async () => {
    const close = await openForeignTransaction();
    try {
      await rooms.subscribe();
      const failing = rooms.database.transaction({}, async (unit) => {
        await unit.query('CREATE ROLE blind; GRANT SELECT ON audit_log TO blind; SET LOCAL ROLE blind');
        expect(await findForeign(unit)).toMatchObject({ database: 'postgres' });
        const { rows } = await unit.query<{ began: Date | null }>(
          "SELECT xact_start AS began FROM pg_stat_activity WHERE application_name = 'a stranger'",
        );
        expect(rows).toContainEqual({ began: null });
        expect((await findForeign(unit)).seconds).toBeGreaterThan(0);
        throw new Error('leave no role');
      });
      await expect(failing).rejects.toThrow('leave no role');
    } finally {
      await close();
    }
  });

  it.each([
    [undefined, []],
    [{ database: 'temporal', role: 'temporal', pid: '4711', seconds: 59 }, []],
    [
      { database: 'temporal', role: 'loader', pid: '4711', seconds: 61.5 },
      ['transaction_open 4711: a transaction of loader in the database temporal has been open for 61 s'],
    ],
  ])('is found by the doctor when it is old: %j', async (open, findings) => {
    const said: string[] = [];
    const check = createOpenTransactionCheck(async () => open);
    await check.examine({
      found: async ({ code, subject, detail }) =>
        void said.push(`${code} ${subject}: ${detail.split(',')[0]}`),
      looked: () => undefined,
    });
    expect(said).toEqual(findings);
  });
});
