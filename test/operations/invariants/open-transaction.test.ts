// What keeps the sealer back is named: the oldest transaction that is open in the cluster, of any role.
import { afterAll, describe, expect, it, vi } from 'vitest';
import { findOldestOpen } from '../../../src/audit/open-transaction.store.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { openForeignTransaction } from '../../webhooks/intake/foreign-transaction.ts';
import { createWebhookRooms } from '../../webhooks/webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

/** Other files share the cluster, and may have an older one for a moment. */
const findForeign = (queryable: Queryable) =>
  vi.waitUntil(async () => {
    const open = await findOldestOpen(queryable, 0);
    return open?.named?.includes(' in the database postgres, pid ') ? open : undefined;
  }, PATIENCE);

describe('the oldest open transaction', () => {
  it('is that of another database, with its role, its pid and its age', async () => {
    const close = await openForeignTransaction();
    try {
      const { rows } = await rooms.database.query<{ pid: string; role: string }>(
        "SELECT pid::text, usename AS role FROM pg_stat_activity WHERE application_name = 'a stranger'",
      );
      const found = await findForeign(rooms.database);
      expect(rows.map(({ role, pid }) => `${role} in the database postgres, pid ${pid}`)).toContain(
        found.named,
      );
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
});
