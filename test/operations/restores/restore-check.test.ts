// What `countersign restore-check` does to a restored database before anything serves.
import { expect, it } from 'vitest';
import { ConsoleCodeService } from '../../../src/authentication/console/code.service.ts';
import { findAhead } from '../../../src/operations/invariants/cluster.store.ts';
import { OperatorActService } from '../../../src/operations/operators/operator-act.service.ts';
import { readIds } from '../../../src/operations/restores/restore.store.ts';
import { planIds } from '../../../src/operations/restores/restore.ts';
import { RestoreCheckService } from '../../../src/operations/restores/restore-check.service.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createProver } from '../../authentication/dpop/proofs.ts';
import { createAccounts, provisionTenant, requestTo } from '../../authentication/tokens/accounts.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';

const { database: owner, serviceUrl } = await useTestDatabase();
const intent = { operator: 'jo', reason: 'the disk was lost' };

async function open() {
  const database = createPatientDatabase({ url: serviceUrl, pool: 3, applicationName: 'test' });
  const accounts = createAccounts(database);
  const acts = new OperatorActService(accounts);
  const consoleCodes = new ConsoleCodeService(accounts);
  const restores = new RestoreCheckService({ ...accounts, database, findAhead, consoleCodes, acts });
  const nextId = async () =>
    Number((await database.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid')).rows[0]?.xid);
  return { ...accounts, database, consoleCodes, restores, nextId };
}

const changeActs = (change: string) =>
  owner.query(`
    DO $$ BEGIN
      ALTER TABLE operator_acts DISABLE TRIGGER USER;
      UPDATE operator_acts SET ${change};
      ALTER TABLE operator_acts ENABLE TRIGGER USER;
    END $$`);

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

it('plans ten times the ids that the lost time used at the highest pace of the day before', () => {
  expect(planIds({ next: 5_000, missing: 0, perSecond: 1_000 }, { lostSeconds: 600 })).toBe(6_000_000);
  expect(planIds({ next: 5_000, missing: 300, perSecond: 0 }, { lostSeconds: 600 })).toBe(1_000_300);
  expect(planIds({ next: 5_000, missing: 0, perSecond: 9 }, { lostSeconds: 600, usedUntil: 7_000 })).toBe(
    2_001,
  );
  expect(planIds({ next: 5_000, missing: 300, perSecond: 9 }, { lostSeconds: 600, usedUntil: 4_000 })).toBe(
    300,
  );
});

it('reads the pace of the ids from the events of the day before', async () => {
  const insert = (minutes: number, xid: number) =>
    owner.query(
      `INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body, xid, created_at)
         SELECT id, id, 'pace', 'pace', at, '', $2::text::xid8, at
         FROM (SELECT now() - make_interval(mins => $1) AS at) AS time, uuid_of_time(at) AS id`,
      [minutes, xid],
    );
  await insert(200, 1_000);
  await insert(140, 37_000);
  await insert(80, 38_000);
  expect((await readIds(owner, new Date())).perSecond).toBeCloseTo(10);
  expect((await readIds(owner, minutesAgo(130))).perSecond).toBeCloseTo(10);
  expect((await readIds(owner, minutesAgo(150))).perSecond).toBe(0);
  await owner.query(`DELETE FROM events WHERE type = 'pace'`);
});

it('raises the ids and ends what could be used twice, once for each restore', async () => {
  const { restores, nextId, database, ...accounts } = await open();
  const { tenant } = await provisionTenant({ ...accounts, database }, 'restored');
  const prover = await createProver();
  const seconds = Math.floor(Date.now() / 1_000) - 5;
  const proof = await prover.prove({
    claims: {
      iat: seconds,
      jti: newId(),
      htu: `${tenant.baseUrl}/oauth/token`,
      nonce: accounts.dpop.nonce(tenant),
    },
  });
  const use = { proofs: [proof], method: 'POST', path: '/oauth/token' };
  await accounts.dpop.verifyProof({ tenant }, use);
  await accounts.consoleCodes.makeLink(requestTo(tenant));
  await owner.query('DELETE FROM dpop_proofs');
  const before = await nextId();

  const since = minutesAgo(10);
  const prepared = await restores.prepare(intent, { since, usedUntil: before + 120_000 });
  expect(prepared).toMatchObject({ restoredTo: since, tenants: 1, codes: 1 });
  expect(await nextId()).toBeGreaterThan(before + 120_000);
  const later = await open();
  const resumed = await later.tenants.bySlug('restored');
  if (resumed === undefined) throw new Error('the tenant is gone');
  // Another process has other master keys here, so the same nonces are asked of the first one.
  await expect(accounts.dpop.verifyProof({ tenant: resumed }, use)).rejects.toThrow(/the service restored/);
  const { rows } = await database.query<{ data: object }>(
    `SELECT data FROM audit_log WHERE tenant_id = $1 AND action = 'service.restored'`,
    [tenant.id],
  );
  expect(rows).toMatchObject([{ data: { reason: intent.reason, restored_to: since.toISOString() } }]);

  const raised = await nextId();
  const again = await restores.prepare(intent, { since });
  expect(again).toMatchObject({ restoredTo: since, ids: 0, tenants: 0, doneAt: expect.any(Date) });
  expect(await restores.prepare(intent, {})).toMatchObject({ doneAt: again.doneAt });
  expect(await nextId()).toBeLessThan(raised + 100_000);
  expect((await later.tenants.list()).map(({ resumedAt }) => resumedAt)).toEqual([resumed.resumedAt]);
  await Promise.all([later.database.close(), database.close()]);
});

it('takes an act that a backup brought along for no work on this restore', async () => {
  const { restores, database } = await open();
  await changeActs(`at = pg_postmaster_start_time() - interval '1 hour'`);
  const since = minutesAgo(5);
  expect((await restores.prepare(intent, { since, usedUntil: 1 })).doneAt).toBeUndefined();
  await changeActs(`data = data || '{"database": "another"}'`);
  expect((await restores.prepare(intent, { usedUntil: 1 })).doneAt).toBeUndefined();
  await database.close();
});

it('consumes the ids by which a dump is ahead, until nothing is', async () => {
  const { restores, database } = await open();
  await owner.query('ALTER TABLE audit_head DISABLE TRIGGER USER');
  await owner.query(
    `UPDATE audit_head SET last_xid = (pg_current_xact_id()::text::bigint + 120000)::text::xid8`,
  );
  expect(await findAhead(database)).toMatchObject([{ table: 'audit_head' }]);
  expect((await restores.prepare(intent, { since: minutesAgo(4), usedUntil: 1 })).ids).toBeGreaterThanOrEqual(
    120_000,
  );
  expect(await findAhead(database)).toEqual([]);
  await database.close();
});

it('does nothing while an api or a worker is connected, as to a database that nobody has restored', async () => {
  const { restores, database, tenants } = await open();
  const before = (await tenants.list()).map(({ resumedAt }) => resumedAt);
  const api = createPatientDatabase({ url: serviceUrl, pool: 1, applicationName: 'countersign api' });
  await api.query('SELECT 1');
  const since = minutesAgo(2);
  await expect(restores.prepare(intent, { since })).rejects.toThrow(/^Connected: api\./);
  expect(await restores.hasWorker()).toBe(false);
  expect((await tenants.list()).map(({ resumedAt }) => resumedAt)).toEqual(before);
  await Promise.all([api.close(), database.close()]);
});

it('refuses a time to come, and ids that would take hours', async () => {
  const { restores, database, nextId } = await open();
  await expect(restores.prepare(intent, { since: minutesAgo(-5) })).rejects.toThrow(/--since/);
  const next = await nextId();
  const far = restores.prepare(intent, { since: minutesAgo(3), usedUntil: next + 1_000_000_000 });
  await expect(far).rejects.toThrow(/--used-until/);
  expect(await nextId()).toBeLessThan(next + 100_000);
  await database.close();
});
