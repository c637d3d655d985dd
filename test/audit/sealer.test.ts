// The sealer against a real database: every row once, in any order of commits, by any process that seals, also
// when one ends in the middle.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { AuditSealer } from '../../src/audit/audit-sealing.service.ts';
import { createCheckpointSigner } from '../../src/audit/checkpoint-signature.node.ts';
import { AUDIT_KEYS, createTestDatabase } from '../setup/database.ts';
import { PATIENCE } from '../setup/patience.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { createSealing, tamper } from './sealing.ts';

const KEY_ID = createCheckpointSigner({ auditKeys: AUDIT_KEYS }).keyId;

type Test = Awaited<ReturnType<typeof createTestDatabase>>;
const opened: Test[] = [];
let test: Test;

beforeEach(async () => {
  test = await createTestDatabase();
  opened.push(test);
});

afterAll(() => Promise.all(opened.map((database) => database.drop())));

/** How often each row of the log is in a checkpoint. */
const timesSealed = async () =>
  (
    await test.database.query<{ times: number; rows: number }>(
      `SELECT times::int, count(*)::int AS rows FROM (
         SELECT (SELECT count(*) FROM audit_checkpoints c WHERE l.id = ANY(c.row_ids)) AS times FROM audit_log l
       ) AS counted GROUP BY times ORDER BY times`,
    )
  ).rows;

const checkpoints = async () =>
  (
    await test.database.query<{ tenant_id: string; n: number; count: number; size: number; seal: number }>(
      'SELECT tenant_id, n, count, tree_size AS size, seal FROM audit_checkpoints ORDER BY tenant_id, n',
    )
  ).rows;

describe('the sealer', () => {
  it('seals every row of every tenant once, in chains without gaps', async () => {
    const sealing = createSealing(test.database, { sealRows: 7, pageRows: 3 });
    const contexts = await Promise.all([1, 2, 3].map(() => createTenantContext(test.database)));
    for (let round = 0; round < 3; round += 1)
      for (const context of contexts) await sealing.write(context, 5);
    await sealing.sealAll();
    expect(await timesSealed()).toEqual([{ times: 1, rows: 45 }]);
    const sealed = await checkpoints();
    for (const { tenant } of contexts) {
      const own = sealed.filter(({ tenant_id }) => tenant_id === tenant.id);
      expect(own.map(({ n }) => n)).toEqual(own.map((_, index) => index + 1));
      expect(own.at(-1)?.size).toBe(15);
    }
    expect(Math.max(...sealed.map(({ seal }) => seal))).toBeGreaterThanOrEqual(7);
    expect(await sealing.verify()).toMatchObject({
      findings: [],
      report: { rows: 45, tenants: 3, unsealed: { rows: 0 } },
    });
  });

  it('writes nothing when nothing is new, and asks with one statement', async () => {
    const sealing = createSealing(test.database);
    await sealing.write(await createTenantContext(test.database));
    await sealing.sealAll();
    const head = await sealing.checkpoints.readHead(test.database);
    let statements = 0;
    const counting = new AuditSealer({
      auditKeys: AUDIT_KEYS,
      database: {
        transaction: () => Promise.reject(new Error('a transaction for nothing')),
        query: <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
          statements += 1;
          return test.database.query<Row>(text, values, members);
        },
      },
    });
    expect(await counting.runOnce()).toEqual({ seals: 0, checkpoints: 0, rows: 0 });
    expect(statements).toBe(1);
    expect(await sealing.checkpoints.readHead(test.database)).toEqual(head);
  });

  it('leaves out what is not committed, and what began after it, and seals it when it has ended', async () => {
    const sealing = createSealing(test.database);
    const context = await createTenantContext(test.database);
    await sealing.write(context, 2);
    await sealing.sealAll();
    await test.database.transaction({}, async (unit) => {
      await sealing.records.write(unit, context, { audit: [{ action: 'slow', outcome: 'success' }] });
      await sealing.write(context, 3);
      await sealing.sealer.runOnce();
      expect(await timesSealed()).toEqual([
        { times: 0, rows: 3 },
        { times: 1, rows: 2 },
      ]);
      expect((await sealing.verify()).report.unsealed.rows).toBe(3);
    });
    await sealing.sealAll();
    expect(await timesSealed()).toEqual([{ times: 1, rows: 6 }]);
    expect((await sealing.verify()).findings).toEqual([]);
  });

  it('seals what commits in any order exactly once, while two of them run', async () => {
    const sealing = createSealing(test.database, { sealRows: 20, pageRows: 8 });
    const contexts = await Promise.all([1, 2].map(() => createTenantContext(test.database)));
    const running = [sealing.newSealer().start(), sealing.newSealer().start()];
    let aborted = 0;
    const writer = async (seed: number) => {
      for (let turn = 0; turn < 12; turn += 1) {
        const context = contexts[(seed + turn) % 2] ?? contexts[0];
        if (context === undefined) return;
        const isAborted = (seed + turn) % 5 === 0;
        const work = test.database.transaction({}, async (unit) => {
          await sealing.records.write(unit, context, { audit: [{ action: 'first', outcome: 'success' }] });
          await sleep((seed * 7 + turn * 13) % 60);
          await sealing.records.write(unit, context, { audit: [{ action: 'second', outcome: 'failure' }] });
          if (isAborted) throw new Error('rolled back');
        });
        await work.catch(() => (aborted += 1));
      }
    };
    await Promise.all([1, 2, 3, 4, 5, 6].map(writer));
    await Promise.all(running.map((sealer) => sealer.stop()));
    await sealing.sealAll();
    expect(aborted).toBeGreaterThan(0);
    expect(await timesSealed()).toEqual([{ times: 1, rows: (72 - aborted) * 2 }]);
    expect((await sealing.verify()).findings).toEqual([]);
  });

  it('takes transaction ids for numbers, whatever their length', async () => {
    const sealing = createSealing(test.database, { sealRows: 2, pageRows: 1 });
    const { tenant } = await createTenantContext(test.database);
    for (const xid of [10, 9, 100, 11, 99])
      await test.database.query(
        `INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind, xid)
         VALUES (gen_random_uuid(), $1, 'old', 'success', 'operator', $2::text::xid8)`,
        [tenant.id, xid],
      );
    await sealing.sealAll();
    expect((await sealing.verify()).findings).toEqual([]);
    const { rows } = await test.database.query<{ last: string }>(
      'SELECT last_xid::text AS last FROM audit_checkpoints ORDER BY n',
    );
    expect(rows.map(({ last }) => last)).toEqual(['10', '99', '100']);
  });

  it('gives way to another one that is sealing', async () => {
    const sealing = createSealing(test.database);
    await sealing.write(await createTenantContext(test.database), 3);
    await vi.waitUntil(() => sealing.checkpoints.hasWork(test.database, KEY_ID), PATIENCE);
    await test.database.transaction({}, async (unit) => {
      expect(await sealing.checkpoints.tryLock(unit)).not.toBeNull();
      expect(await sealing.sealer.runOnce()).toBeUndefined();
    });
    await sealing.sealAll();
    expect(await timesSealed()).toEqual([{ times: 1, rows: 3 }]);
  });

  it('leaves nothing half done when it ends in the middle, and another carries on', async () => {
    const sealing = createSealing(test.database);
    const context = await createTenantContext(test.database);
    await sealing.write(context, 4);
    const broken = createSealing({
      ...test.database,
      transaction: (context, work) =>
        test.database.transaction(context, (transaction) =>
          work({
            ...transaction,
            query: (text, values, members) =>
              text.startsWith('UPDATE audit_head')
                ? Promise.reject(new Error('power cut'))
                : transaction.query(text, values, members),
          }),
        ),
    });
    await expect(broken.sealAll()).rejects.toThrow('power cut');
    expect(await checkpoints()).toEqual([]);
    await sealing.write(context, 1);
    await sealing.sealAll();
    expect(await timesSealed()).toEqual([{ times: 1, rows: 5 }]);
    expect((await sealing.verify()).findings).toEqual([]);
  });

  it('says so and seals nothing when the head is gone, or transaction ids have gone back', async () => {
    const sealing = createSealing(test.database);
    await sealing.write(await createTenantContext(test.database));
    await sealing.sealAll();
    await tamper(test.database, ["UPDATE audit_head SET last_xid = '9223372036854775807'"]);
    await expect(sealing.sealer.runOnce()).rejects.toThrow('transaction ids have gone back');
    await tamper(test.database, ['DELETE FROM audit_head']);
    await expect(sealing.sealer.runOnce()).rejects.toThrow('head of the audit log is missing');
  });

  it('goes on with another audit key behind which the one before stands; what that one signed is still verified', async () => {
    const next = { id: 'new', key: new Uint8Array(32).fill(8) };
    const first = createSealing(test.database);
    const context = await createTenantContext(test.database);
    await first.write(context, 2);
    await first.sealAll();
    const strange = createSealing(test.database, { auditKeys: [next] });
    expect((await strange.verify()).findings).toMatchObject([{ kind: 'head_changed' }]);
    await expect(strange.sealer.runOnce()).rejects.toThrow('belongs to none of the audit keys');
    // Nothing is new, and the head gets a signature by the new key, so that the old one can go.
    await createSealing(test.database, { auditKeys: [next, ...AUDIT_KEYS] }).sealer.runOnce();
    const second = createSealing(test.database, { auditKeys: [next] });
    expect((await second.verify()).findings).toEqual([]);
    await second.write(context, 2);
    await second.sealAll();
    expect((await second.verify()).findings).toEqual([]);
    const { keys } = await second.reading.listCheckpoints(context, { limit: 10 });
    expect(keys).toHaveLength(2);
  });

  it.each(['audit_seals', 'audit_checkpoints', 'audit_signing_keys'])(
    'cannot be undone: %s is append-only',
    async (table) => {
      const sealing = createSealing(test.database);
      await sealing.write(await createTenantContext(test.database));
      await sealing.sealAll();
      const column = table === 'audit_signing_keys' ? 'public_key' : 'signature';
      for (const statement of [
        `DELETE FROM ${table}`,
        `TRUNCATE ${table}`,
        `UPDATE ${table} SET ${column} = '\\x00'`,
      ])
        await expect(test.database.query(statement)).rejects.toThrow('append-only');
      await expect(test.database.query('DELETE FROM audit_head')).rejects.toThrow('append-only');
      await expect(test.database.query('UPDATE audit_head SET n = n')).rejects.toThrow('only moves on');
    },
  );
});
