// A tenant ends, comes back, is exported and is erased: commands, rows, the audit log, the certificate. Temporal is a
// fake here; test/operations/erasure/canary.test.ts has it all.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { listExported } from '../../../src/operations/erasure/erasure-rules.ts';
import { listLeft } from '../../../src/operations/erasure/tenant-end.store.ts';
import { TenantErasureService } from '../../../src/operations/erasure/tenant-erasure.service.ts';
import type { Tenant } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createSealing, tamper } from '../../audit/sealing.ts';
import { readStatistics } from '../../redaction/places.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';
import { createOperatorRooms } from '../operators/operator-rooms.ts';

let number = 0;
let slug: string;
let tenant: Tenant;

const WHY = ['--reason', 'the contract has ended', '--as', 'jo@ops'];
const pulse = { heartbeat: () => undefined, signal: new AbortController().signal };
const removed: string[] = [];

const test = await useTestDatabase();
const service = createPatientDatabase({ url: test.serviceUrl, pool: 4, applicationName: 'erasure' });
const rooms = createOperatorRooms(test.database);
const sealing = createSealing(test.database);
const erasure = new TenantErasureService({
  database: service,
  tenants: rooms.tenants,
  certificates: rooms.certificates,
  histories: { remove: async (id) => removed.push(id) },
  chunk: 3,
});
const folder = await mkdtemp(join(tmpdir(), 'countersign-erasure-'));
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  number += 1;
  slug = `acme-${number}`;
  await rooms.provisioning.provision({ slug });
  tenant = await rooms.tenants.requireBySlug(slug);
});

const json = async (...args: string[]) =>
  JSON.parse((await rooms.run('operator', 'tenant', ...args, '--json'))[0] ?? '');
const end = () => json('end', slug, '--confirm', slug, ...WHY);
const letTimePass = () =>
  test.database.query("UPDATE tenant_ends SET erase_at = now() - interval '1 second' WHERE tenant_id = $1", [
    tenant.id,
  ]);
const contextOf = (one: Tenant) => ({ tenant: one, requestId: newId(), address: '192.0.2.7' });
const countOf = async (table: string) =>
  (await test.database.query(`SELECT 1 FROM ${table} WHERE tenant_id = $1`, [tenant.id])).rowCount;

describe('the end of a tenant', () => {
  it('suspends it, says when it is erased, is on record, and is asked for once', async () => {
    const ended = await end();
    expect(ended).toEqual({
      tenant_id: tenant.id,
      slug,
      suspended_at: expect.stringMatching(/Z$/),
      erase_at: expect.stringMatching(/Z$/),
      changed: true,
    });
    const days = (Date.parse(ended.erase_at) - Date.parse(ended.suspended_at)) / 86_400_000;
    expect(days).toBeCloseTo(30, 3);
    expect(await end()).toEqual({ ...ended, changed: false });
    expect((await rooms.auditOf(tenant.id)).map(({ action }) => action)).toEqual([
      'tenant.suspended',
      'tenant.ended',
    ]);
    expect(await erasure.look({ tenantId: tenant.id })).toMatchObject({
      status: 'ending',
      step: { kind: 'wait', delayMs: 86_400_000 },
    });
    expect((await erasure.erase({ tenantId: tenant.id }, pulse)).status).toBe('ending');
    expect(await countOf('applications')).toBe(1);
  });

  it('needs its slug twice, and a tenant that is there', async () => {
    await expect(rooms.run('operator', 'tenant', 'end', slug, '--confirm', 'acme', ...WHY)).rejects.toThrow(
      /--confirm: must be/,
    );
    await expect(rooms.run('operator', 'tenant', 'end', slug, ...WHY)).rejects.toThrow(/--confirm/);
    await expect(
      rooms.run('operator', 'tenant', 'end', 'nobody', '--confirm', 'nobody', ...WHY),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect(await rooms.auditOf(tenant.id)).toEqual([]);
  });

  it('is taken back as often as it was not over, by restore and not by resume', async () => {
    await end();
    await expect(rooms.run('operator', 'tenant', 'resume', slug, ...WHY)).rejects.toMatchObject({
      code: 'conflict',
    });
    const restored = { tenant_id: tenant.id, slug, suspended_at: null, erase_at: null };
    expect(await json('restore', slug, ...WHY)).toEqual({ ...restored, changed: true });
    expect(await json('restore', slug, ...WHY)).toEqual({ ...restored, changed: false });
    expect((await erasure.look({ tenantId: tenant.id })).status).toBe('restored');
    await end();
    await letTimePass();
    await expect(rooms.run('operator', 'tenant', 'restore', slug, ...WHY)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('leaves a tenant suspended that was so before, when it is taken back', async () => {
    await rooms.run('operator', 'tenant', 'suspend', slug, ...WHY);
    await end();
    expect(await json('restore', slug, ...WHY)).toMatchObject({
      suspended_at: expect.stringMatching(/Z$/),
      changed: true,
    });
  });
});

describe('the archive', () => {
  it('has each row of the tenant and none of another, and no secret', async () => {
    const context = contextOf(tenant);
    await insertSubscription(test.database, context, { filters: ['orders.*'] });
    await sealing.records.write(test.database, context, {
      audit: [{ action: 'agent.created', outcome: 'success', data: { text: 'ü "quoted"\n' } }],
    });
    const out = join(folder, `${slug}.ndjson.gz`);
    const { rows } = await json('export', slug, '--out', out, ...WHY);
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    const text = gunzipSync(await readFile(out)).toString();
    const [first, ...lines] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toEqual({ countersign_export: 1, tenant_id: tenant.id, slug });
    expect(lines.pop()).toEqual({ end: true, rows });
    expect(Object.keys(rows)).toEqual(listExported().map(({ table }) => table));
    expect(lines).toHaveLength(Object.values<number>(rows).reduce((sum, n) => sum + n, 0));
    for (const { table, row } of lines) expect(table === 'tenants' ? row.id : row.tenant_id).toBe(tenant.id);
    expect(lines.find(({ row }) => row.data?.text === 'ü "quoted"\n')).toBeDefined();
    expect(lines.find(({ row }) => row.action === 'tenant.exported')).toBeDefined();
    expect(rows).toMatchObject({ tenants: 1, applications: 1, application_secrets: 1, subscriptions: 1 });
    expect(text).not.toMatch(/_sealed"|"hash"/);
    await expect(json('export', slug, '--out', out, ...WHY)).rejects.toThrow(/--out: .*exist/);
    await expect(json('export', 'nobody', '--out', join(folder, 'x'), ...WHY)).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(stat(join(folder, 'x'))).rejects.toThrow(/ENOENT/);
  });
});

describe('the erasure', () => {
  const erase = async () => {
    await letTimePass();
    await sealing.sealAll();
    return erasure.erase({ tenantId: tenant.id }, pulse);
  };

  it('leaves no row, keeps the audit log verifiable, and signs what went', async () => {
    const context = contextOf(tenant);
    for (let index = 0; index < 4; index += 1)
      await insertSubscription(test.database, context, { filters: [`orders.*`] });
    await sealing.write(context, 10);
    await sealing.sealAll();
    const before = await sealing.reading.listCheckpoints(context, { limit: 50 });
    await end();
    expect(await erase()).toEqual({ step: { kind: 'end' }, status: 'erased', eraseAt: null, removed: 0 });
    expect(removed).toContain(tenant.id);
    expect(await listLeft(test.database, tenant.id)).toEqual([]);
    expect(await rooms.tenants.bySlug(slug)).toBeUndefined();

    const { note, key, ...shown } = await json('certificate', slug);
    expect(shown).toEqual({ tenant_id: tenant.id, slug, erased_at: expect.stringMatching(/Z$/) });
    expect(before.noteKeys).toContain(key);
    const [origin, ...lines] = note.split('\n');
    expect(origin).toBe(`countersign/erasure/${tenant.id}`);
    expect(lines).toEqual(
      expect.arrayContaining([
        `tenant ${slug}`,
        'removed subscriptions 4',
        'removed endpoints 4',
        'removed workflows 1',
        'removed applications 1',
      ]),
    );
    expect(await rooms.run('operator', 'tenant', 'certificate', tenant.id)).toEqual([note.trimEnd()]);

    const { findings, report } = await sealing.verify();
    expect(findings).toEqual([]);
    expect(report.checkpoints).toBeGreaterThan(1);
    await expect(rooms.provisioning.provision({ slug })).rejects.toMatchObject({ code: 'conflict' });
    // A worker that was ended after the commit asks again.
    expect((await erasure.erase({ tenantId: tenant.id }, pulse)).status).toBe('erased');
  });

  it('takes no row of the audit log that is not sealed, or of a tenant whose time is not over', async () => {
    await end();
    await letTimePass();
    await expect(erasure.erase({ tenantId: tenant.id }, pulse)).rejects.toThrow(/not sealed yet/);
    const remove = () => service.query('SELECT erase_audit_rows($1, 1000) AS n', [tenant.id]);
    await test.database.query("UPDATE tenant_ends SET erase_at = now() + interval '1 day'");
    await expect(remove()).rejects.toMatchObject({ code: '42501' });
    await expect(service.query('DELETE FROM audit_log')).rejects.toMatchObject({ code: '42501' });
    await expect(test.database.query('DELETE FROM audit_log')).rejects.toMatchObject({ code: '42501' });
    expect((await erase()).status).toBe('erased');
  });

  it('leaves no row of the audit log to a role of the service that would end a tenant early', async () => {
    await sealing.write(contextOf(tenant), 2);
    await sealing.sealAll();
    const remove = () => service.query('SELECT erase_audit_rows($1, 1000) AS n', [tenant.id]);
    const refused = expect.objectContaining({ code: '42501' });
    const plant = (time: string) =>
      service.query(
        `INSERT INTO tenant_ends (tenant_id, erase_at, was_suspended) VALUES ($1, ${time}, false)`,
        [tenant.id],
      );
    for (const time of ['now()', "now() + interval '29 days'", "'-infinity'"])
      await expect(plant(time), time).rejects.toEqual(refused);
    await expect(remove()).rejects.toEqual(refused);
    // Its workflow shows this end for 30 days, and an operator takes it back.
    await plant("now() + interval '30 days'");
    for (const change of ['erase_at = now()', "asked_at = now() - interval '30 days'", 'erase_at = NULL'])
      await expect(service.query(`UPDATE tenant_ends SET ${change}`), change).rejects.toEqual(refused);
    await service.query("UPDATE tenant_ends SET removed = '{}', removed_at = now()");
    await expect(remove()).rejects.toEqual(refused);
    await test.database.query('DELETE FROM tenant_ends');
  });

  it('without a certificate that the service has signed is a finding', async () => {
    await sealing.write(contextOf(tenant), 2);
    await sealing.sealAll();
    await tamper(test.database, ['DELETE FROM audit_log WHERE tenant_id = $1', [tenant.id]]);
    const statement = `countersign/erasure/${tenant.id}\n`;
    await test.database.query(
      `INSERT INTO audit_erasures (tenant_id, slug, erased_at, statement, key_id, signature)
       SELECT $1, $2, now(), $3, id, '\\x00' FROM audit_signing_keys LIMIT 1`,
      [tenant.id, slug, statement],
    );
    const { findings } = await sealing.verify({ tenantId: tenant.id });
    expect(findings.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['erasure_changed', 'row_removed']),
    );
    await expect(rooms.certificates.show(slug)).rejects.toMatchObject({ code: 'conflict' });
    await expect(test.database.query('DELETE FROM audit_erasures')).rejects.toMatchObject({ code: '42501' });
  });

  it('leaves the rows of other tenants, in each table', async () => {
    const other = await rooms.tenants.create({ slug: `${slug}-other` });
    const otherTenant = await rooms.tenants.requireBySlug(other.slug);
    await insertSubscription(test.database, contextOf(otherTenant), { filters: ['*'] });
    await insertSubscription(test.database, contextOf(tenant), { filters: ['*'] });
    await test.database.query(
      `INSERT INTO host_holds (host, until, reason, operator) VALUES ('example.com', now(), 'x', 'jo')
       ON CONFLICT DO NOTHING`,
    );
    const dump = async () => {
      const rows: Record<string, unknown> = {};
      for (const { table, where } of listExported())
        rows[table] = (await test.database.query(`SELECT * FROM ${table} WHERE ${where}`, [other.id])).rows;
      return rows;
    };
    await sealing.sealAll();
    const before = await dump();
    await end();
    expect((await erase()).status).toBe('erased');
    expect(await dump()).toEqual(before);
    expect((await test.database.query('SELECT 1 FROM host_holds')).rowCount).toBe(1);
  });

  it("leaves no value of the tenant in the planner's statistics, and those of other rows", async () => {
    const other = await rooms.tenants.create({ slug: `${slug}-other` });
    const third = await rooms.tenants.create({ slug: `${slug}-third` });
    for (const { id } of [tenant, tenant, other, third])
      await insertSubscription(test.database, contextOf({ ...tenant, id }), { filters: ['*'] });
    // Nothing else is in this table, and ANALYZE leaves the sample of an empty one.
    await test.database.query(
      `INSERT INTO idempotency_keys (tenant_id, principal, route, key, request_digest, status, headers)
       SELECT $1, 'x', 'x', key, '\\x00', 201, '{}' FROM unnest('{first,second}'::text[]) AS key`,
      [tenant.id],
    );
    await test.database.query('ANALYZE');
    const KEPT = ['audit_checkpoints', 'audit_erasures', 'audit_seals', 'operator_acts'];
    const namesWith = async (text: string) =>
      (await readStatistics(test.database))
        .filter((one) => one.text.includes(text) && !KEPT.includes(one.name))
        .map(({ name }) => name);
    const tables = ['tenants', 'subscriptions', 'endpoints', 'idempotency_keys'];
    expect(await namesWith(tenant.id)).toEqual(expect.arrayContaining(tables));
    await end();
    expect((await erase()).status).toBe('erased');
    expect(await namesWith(tenant.id)).toEqual([]);
    expect(await namesWith(other.id)).toEqual(expect.arrayContaining(['tenants', 'subscriptions']));
  });
});
