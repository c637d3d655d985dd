// The beginning of the audit log: signed once by `migrate`, and refused when somebody else begins the log anew.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { AuditBeginning } from '../../src/audit/beginning.service.ts';
import { any } from '../../src/identity/tenants/tenant.store.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { AUDIT_KEYS, createTestDatabase } from '../setup/database.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { beginEarlier, createSealing, tamper } from './sealing.ts';

type Test = Awaited<ReturnType<typeof createTestDatabase>>;
const opened: { drop(): Promise<void> }[] = [];
let test: Test;

beforeEach(async () => {
  test = await createTestDatabase();
  opened.push(test);
});
afterAll(() => Promise.all(opened.map((database) => database.drop())));

const begin = (database: Database = test.database) =>
  new AuditBeginning({
    database,
    auditKeys: AUDIT_KEYS,
    tenants: { any },
  }).begin();

/** What the head and the beginning are where nobody has signed them. */
const UNSIGNED_HEAD = `UPDATE audit_head SET n = 0, hash = decode(repeat('00', 32), 'hex'), last_xid = '0',
  last_id = '00000000-0000-0000-0000-000000000000', key_id = NULL, signature = NULL`;
const UNSIGNED_BEGINNING = 'UPDATE audit_beginning SET began_at = NULL, key_id = NULL, signature = NULL';
const NOTHING_SEALED = ['DELETE FROM audit_checkpoints', 'DELETE FROM audit_seals'] as const;

/** A log of two tenants that was sealed twice. @returns it, and the first head with its signature */
async function fillLog() {
  const { rows } = await test.database.query('SELECT * FROM audit_head');
  const sealing = createSealing(test.database);
  const context = await createTenantContext(test.database);
  for (let times = 0; times < 2; times += 1) {
    await sealing.write(context, 4);
    await sealing.sealAll();
  }
  expect((await sealing.verify()).findings).toEqual([]);
  return { sealing, context, firstHead: rows[0] as Record<string, unknown> };
}

/** Edits and removes rows, and removes all that was signed over them. */
const forge = () =>
  tamper(
    test.database,
    ["UPDATE audit_log SET address = '203.0.113.66' WHERE data->>'index' = '1'"],
    ["DELETE FROM audit_log WHERE data->>'index' = '2'"],
    ...NOTHING_SEALED.map((text): [string] => [text]),
    ['DELETE FROM audit_signing_keys'],
  );

const setBackTo = (head: Record<string, unknown>): [string, unknown[]] => [
  'UPDATE audit_head SET n = $1, hash = $2, last_xid = $3, last_id = $4, key_id = $5, signature = $6',
  [head.n, head.hash, head.last_xid, head.last_id, head.key_id, head.signature],
];

describe('a log that somebody begins anew without the audit key', () => {
  it('is not sealed where its head was set back, and is named', async () => {
    const { sealing } = await fillLog();
    await forge();
    await tamper(test.database, [UNSIGNED_HEAD]);
    await expect(sealing.sealer.runOnce()).rejects.toThrow('it is not signed');
    const kinds = (await sealing.verify()).findings.map(({ kind }) => kind);
    expect(kinds).toContain('head_changed');
    expect((await test.database.query('SELECT 1 FROM audit_seals')).rowCount).toBe(0);
  });

  it('is not begun again by the next migration', async () => {
    await fillLog();
    await forge();
    await tamper(test.database, [UNSIGNED_HEAD], [UNSIGNED_BEGINNING]);
    expect(await begin()).toEqual({
      result: 'refused',
      reason: 'the audit log is to begin, and the database has rows, tenants already',
    });
    await tamper(test.database, ['DELETE FROM audit_log']);
    expect(await begin()).toMatchObject({
      result: 'refused',
      reason: expect.stringContaining('has tenants'),
    });
    await tamper(test.database, ['DELETE FROM audit_beginning']);
    expect(await begin()).toMatchObject({ result: 'refused', reason: expect.stringContaining('is missing') });
    const findings = (await createSealing(test.database).verify()).findings.map(({ kind }) => kind);
    expect(findings).toEqual(['head_changed', 'beginning_changed']);
  });

  it('is refused with its first head while seals are there, and with rows from before the log', async () => {
    const { sealing, firstHead } = await fillLog();
    await tamper(test.database, setBackTo(firstHead));
    await expect(sealing.sealer.runOnce()).rejects.toThrow('it does not reach seal 1');
    await forge();
    await tamper(test.database, [
      "UPDATE audit_log SET occurred_at = occurred_at - interval '1 day' WHERE data->>'index' = '0'",
    ]);
    await expect(sealing.sealer.runOnce()).rejects.toThrow('is older than the audit log');
    expect((await test.database.query('SELECT 1 FROM audit_seals')).rowCount).toBe(0);
  });

  it('is named by its first seal where somebody kept the first head with its signature', async () => {
    await beginEarlier(test.database, 1);
    const { sealing, firstHead } = await fillLog();
    await forge();
    await tamper(test.database, ["UPDATE audit_log SET occurred_at = now() - interval '11 minutes'"]);
    await tamper(test.database, setBackTo(firstHead));
    await sealing.sealAll();
    const { findings } = await sealing.verify();
    expect(findings).toMatchObject([{ kind: 'first_seal_late', seal: 1, checkpoint: 1 }]);
    expect(findings[0]?.detail).toMatch(/^6 rows of the first seal/);
  });

  it('is named where its beginning was replaced', async () => {
    const { sealing } = await fillLog();
    await tamper(test.database, ["UPDATE audit_beginning SET began_at = began_at - interval '1 second'"]);
    expect((await sealing.verify()).findings).toMatchObject([
      { kind: 'beginning_changed', detail: 'its signature is wrong' },
      { kind: 'seal_changed', seal: 1, detail: 'it does not continue the one before' },
    ]);
  });
});
