// What is promised of afterCommit, of a transaction, with models and without: only after a commit that happened, in
// order.
import { describe, expect, it } from 'vitest';
import { TENANT } from '../../../src/identity/tenants/tenant.model.ts';
import type { Transaction } from '../../../src/platform/database/transaction.ts';
import { useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();
// Deferred: the violation is found by the COMMIT itself.
await test.database.query(`CREATE TABLE parents (id int PRIMARY KEY)`);
await test.database.query(
  `CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`,
);

const kinds = {
  hot: (work: (transaction: Transaction) => Promise<void>) => test.database.transaction({}, work),
  management: (work: (transaction: Transaction) => Promise<void>) =>
    test.database.transaction({}, async (transaction) => {
      await transaction.model(TENANT).list({ limit: 1 });
      await work(transaction);
    }),
};

describe.each(Object.entries(kinds))('an action after the commit of a %s transaction', (_, run) => {
  it('runs once the rows are there, in the order of its registration', async () => {
    const seen: string[] = [];
    await run(async (unit) => {
      unit.afterCommit(() => seen.push('first'));
      await unit.query('INSERT INTO parents SELECT coalesce(max(id), 0) + 1 FROM parents');
      unit.afterCommit(() => seen.push('second'));
      expect(seen).toEqual([]);
    });
    expect(seen).toEqual(['first', 'second']);
  });

  it('does not run when the work fails, nor when the COMMIT itself does', async () => {
    const seen: string[] = [];
    const failing = run(async (unit) => {
      unit.afterCommit(() => seen.push('work'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    const orphan = run(async (unit) => {
      unit.afterCommit(() => seen.push('commit'));
      await unit.query('INSERT INTO children VALUES (-1)');
    });
    await expect(orphan).rejects.toThrow();
    expect(seen).toEqual([]);
  });
});
