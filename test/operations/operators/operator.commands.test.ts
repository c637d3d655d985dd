// `countersign operator …` from its words to its lines, to the record of acts, and to the audit logs of the tenants
// concerned.
import { userInfo } from 'node:os';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase, useTestDatabase } from '../../setup/database.ts';
import { createOperatorRooms } from './operator-rooms.ts';

let number = 0;
let slug: string;
let tenantId: string;

const test = await useTestDatabase();
const rooms = createOperatorRooms(test.database);
beforeEach(async () => {
  number += 1;
  slug = `acme-${number}`;
  tenantId = (await rooms.tenants.create({ slug })).id;
});

const WHY = ['--reason', 'floods its neighbours', '--as', 'jo@ops'];

describe('the suspension of a tenant', () => {
  it('is told in one line, is on record, and stands in the tenant’s audit log', async () => {
    expect(await rooms.run('operator', 'tenant', 'suspend', slug, ...WHY)).toEqual([
      `Tenant ${slug} is suspended: it is refused everywhere within a second, and its deliveries wait.`,
    ]);
    expect((await rooms.run('tenant', 'list')).find((line) => line.startsWith(`${slug} `))).toMatch(
      /\(suspended since \d{4}-.*Z\)$/,
    );
    const { acts, missing } = await rooms.acts.list(1);
    expect(missing).toBe(0);
    expect(acts).toMatchObject([
      {
        operator: 'jo@ops',
        reason: 'floods its neighbours',
        action: 'tenant.suspended',
        target: { type: 'tenant', id: tenantId },
        data: { slug, endpoints: 0 },
        tenants: 1,
      },
    ]);
    expect(await rooms.auditOf(tenantId)).toEqual([
      {
        action: 'tenant.suspended',
        actor_kind: 'operator',
        actor_id: 'jo@ops',
        target_id: tenantId,
        data: { reason: 'floods its neighbours', act: acts[0]?.n, slug, endpoints: 0 },
      },
    ]);
  });

  it('and its end are objects with --json, and changing nothing is no act', async () => {
    const json = async (...args: string[]) => {
      const [line = ''] = await rooms.run('operator', 'tenant', ...args, ...WHY, '--json');
      return JSON.parse(line);
    };
    const none = { tenant_id: tenantId, slug, suspended_at: null };
    expect(await json('resume', slug)).toEqual({ ...none, changed: false });
    const suspended = await json('suspend', slug);
    expect(suspended).toEqual({ ...none, suspended_at: expect.stringMatching(/Z$/), changed: true });
    expect(await json('suspend', slug)).toEqual({ ...suspended, changed: false });
    expect(await json('resume', slug)).toEqual({ ...none, changed: true });
    const [listed] = await rooms.run('tenant', 'list', '--json');
    expect(JSON.parse(listed ?? '')).toContainEqual(expect.objectContaining({ slug, suspended_at: null }));
    expect((await rooms.auditOf(tenantId)).map(({ action }) => action)).toEqual([
      'tenant.suspended',
      'tenant.resumed',
    ]);
  });

  it('of a tenant that is not there is refused, and leaves nothing on record', async () => {
    const before = await rooms.acts.list(1_000);
    await expect(rooms.run('operator', 'tenant', 'suspend', 'nobody', ...WHY)).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await rooms.acts.list(1_000)).toEqual(before);
  });
});

describe('an act', () => {
  it.each<[string, string[], RegExp]>([
    ['without a reason', [], /--reason/],
    ['with an empty reason', ['--reason', '  '], /^--reason: must say something$/],
    ['with a reason of two lines', ['--reason', 'a\nb'], /^--reason: must be one line/],
    ['in the name of nobody', ['--reason', 'x', '--as', ''], /^--as: must be 1 to 128/],
  ])('%s is refused', async (_, options, message) => {
    await expect(rooms.run('operator', 'tenant', 'suspend', slug, ...options)).rejects.toThrow(message);
    expect(await rooms.auditOf(tenantId)).toEqual([]);
  });

  it('is in the name of the user of the machine unless told', async () => {
    await rooms.run('operator', 'tenant', 'suspend', slug, '--reason', 'x');
    expect((await rooms.acts.list(1)).acts[0]?.operator).toBe(userInfo().username);
  });

  it('cannot be changed or deleted, and a gap in the record is told', async () => {
    await rooms.run('operator', 'tenant', 'suspend', slug, ...WHY);
    const [line = ''] = await rooms.run('operator', 'log', '--limit', '1');
    expect(line).toMatch(
      new RegExp(`^ *\\d+  \\S+Z  jo@ops  tenant\\.suspended  ${slug}  floods its neighbours$`),
    );
    const { query } = test.database;
    for (const statement of [
      "UPDATE operator_acts SET reason = 'other'",
      'DELETE FROM operator_acts',
      'TRUNCATE operator_acts',
    ])
      await expect(query(statement)).rejects.toThrow();
    await query('ALTER TABLE operator_acts DISABLE TRIGGER USER');
    await query('DELETE FROM operator_acts WHERE n = 1');
    await query('ALTER TABLE operator_acts ENABLE TRIGGER USER');
    expect((await rooms.run('operator', 'log')).at(-1)).toBe(
      'Missing: 1 acts have been removed from the record.',
    );
    const [object = ''] = await rooms.run('operator', 'log', '--json');
    expect(JSON.parse(object)).toMatchObject({ missing: 1, altered: 0, acts: expect.any(Array) });
  });

  it('that is removed from the end of the record, or edited there, is missed', async () => {
    const other = await createTestDatabase();
    onTestFinished(() => other.drop());
    const { acts, tenants, run } = createOperatorRooms(other.database);
    for (const name of ['one', 'two', 'three']) {
      await tenants.create({ slug: name });
      await run('operator', 'tenant', 'suspend', name, ...WHY);
    }
    const { head } = await acts.list(1);
    expect(await acts.list(1)).toMatchObject({ missing: 0, altered: 0, head: { n: 3 } });
    const { query } = other.database;
    await query('ALTER TABLE operator_acts DISABLE TRIGGER USER');
    await query("UPDATE operator_acts SET reason = 'another' WHERE n = 2");
    await query('DELETE FROM operator_acts WHERE n = 3');
    await query('ALTER TABLE operator_acts ENABLE TRIGGER USER');
    expect(await acts.list(1)).toMatchObject({ missing: 1, altered: 1, head });
    expect((await run('operator', 'log')).slice(-2)).toEqual([
      'Missing: 1 acts have been removed from the record.',
      'Altered: 1 acts are not as they were recorded.',
    ]);
  });

  it('gets a number of its own, however many act together', async () => {
    const slugs = Array.from({ length: 6 }, (_, index) => `crowd-${number}-${index}`);
    for (const name of slugs) await rooms.tenants.create({ slug: name });
    const before = (await rooms.acts.list(1)).acts[0]?.n ?? 0;
    await Promise.all(slugs.map((name) => rooms.run('operator', 'tenant', 'suspend', name, ...WHY)));
    const numbers = (await rooms.acts.list(6)).acts.map(({ n }) => n - before).sort();
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6]);
  });
});
