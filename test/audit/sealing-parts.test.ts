// Several sealers at one backlog: they prepare parts of a seal at the same time, and take over from one that dies.
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import * as checkpoints from '../../src/audit/checkpoint.store.ts';
import { createCheckpointSigner } from '../../src/audit/checkpoint-signature.node.ts';
import { makePart, planParts } from '../../src/audit/sealing-part.service.ts';
import type { Database } from '../../src/platform/database/database.ts';
import type { Transaction } from '../../src/platform/database/transaction.ts';
import { AUDIT_KEYS, createPatientDatabase, createTestDatabase } from '../setup/database.ts';
import { PATIENCE } from '../setup/patience.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { createSealing, tamper } from './sealing.ts';

const SIZES = { sealRows: 8, pageRows: 3 };
const signer = createCheckpointSigner({ auditKeys: AUDIT_KEYS });

type Test = Awaited<ReturnType<typeof createTestDatabase>>;
const opened: Test[] = [];
let test: Test;
let sealing: ReturnType<typeof createSealing>;

beforeEach(async () => {
  test = await createTestDatabase();
  opened.push(test);
  sealing = createSealing(test.database, SIZES);
});

afterAll(() => Promise.all(opened.map((database) => database.drop())));

const toolsOf = (database: Database) => ({ database, signer, ...SIZES });

/** Rows of some tenants, as many of each as is said, one after the other; the first seal is there already. */
async function writeBacklog(...rows: number[]) {
  const contexts = await Promise.all(rows.map(() => createTenantContext(test.database)));
  const [first] = contexts;
  if (first === undefined) throw new Error('no tenant');
  await sealing.write(first, 1);
  await sealing.sealAll();
  for (const [index, context] of contexts.entries()) await sealing.write(context, rows[index]);
  await vi.waitUntil(
    async () =>
      (
        await test.database.query(
          'SELECT 1 FROM audit_log WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()) LIMIT 1',
        )
      ).rowCount === 0,
    PATIENCE,
  );
  return contexts.map(({ tenant }) => tenant.id);
}

const plan = () =>
  test.database.transaction({}, async (unit) => {
    const head = await checkpoints.readHead(unit);
    if (head === undefined) throw new Error('no head');
    await planParts(toolsOf(test.database), unit, head, new Date().toISOString());
  });

const countParts = async () => {
  const { rows } = await test.database.query<{ made: number; open: number }>(
    'SELECT count(result)::int AS made, (count(*) - count(result))::int AS open FROM audit_seal_parts',
  );
  return rows[0];
};

function createSignal() {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { give: () => give(), given };
}

/** A database in which a sealer stops before it reads the rows of its part, until it is let go. */
function createHalting(database: Database) {
  const reached = createSignal();
  const go = createSignal();
  const halting: Database = {
    ...database,
    transaction: (context, work) =>
      database.transaction(context, (unit) => {
        const query: Transaction['query'] = async (text, values) => {
          if (text.includes('unnest($1::uuid[]) AS t(tenant) ')) {
            reached.give();
            await go.given;
          }
          return unit.query(text, values);
        };
        return work({ ...unit, query });
      }),
  };
  return { halting, reached: reached.given, go: go.give };
}

async function expectAllSealedOnce(rows: number) {
  const { rows: found } = await test.database.query(
    `SELECT times::int, count(*)::int AS rows FROM (
       SELECT (SELECT count(*) FROM audit_checkpoints c WHERE l.id = ANY(c.row_ids)) AS times FROM audit_log l
     ) AS counted GROUP BY times`,
  );
  expect(found).toEqual([{ times: 1, rows }]);
  expect(await sealing.verify()).toMatchObject({ findings: [], report: { rows, unsealed: { rows: 0 } } });
}

describe('parts of a seal', () => {
  it('are planned behind a full seal, and become one seal over all their tenants', async () => {
    const tenants = await writeBacklog(5, 4, 9, 2, 7);
    await sealing.sealAll();
    await expectAllSealedOnce(28);
    const { rows } = await test.database.query<{ n: number; tenants: string[] }>(
      'SELECT n, tenants FROM audit_seals ORDER BY n DESC LIMIT 1',
    );
    expect(rows).toEqual([{ n: 3, tenants: expect.arrayContaining(tenants.slice(2)) }]);
    expect(await countParts()).toEqual({ made: 0, open: 0 });
  });

  it('are made by two sealers at the same time', async () => {
    await writeBacklog(9, 8);
    await plan();
    const { halting, reached, go } = createHalting(test.database);
    const slow = makePart(toolsOf(halting));
    await reached;
    // The first one is in the middle of its part. Another makes all others, and cannot finish the seal yet.
    expect(await sealing.sealer.runOnce()).toBeUndefined();
    expect(await countParts()).toEqual({ made: 1, open: 1 });
    go();
    expect(await slow).toBe('made');
    await sealing.sealAll();
    await expectAllSealedOnce(18);
  });

  it('go to another sealer when the connection of the one that makes them ends', async () => {
    await writeBacklog(9, 8);
    await plan();
    const dying = createPatientDatabase({ url: test.url, pool: 1, applicationName: 'dying' });
    const { halting, reached, go } = createHalting(dying);
    const killed = makePart(toolsOf(halting)).catch((error: unknown) => error);
    await reached;
    await sealing.sealer.runOnce();
    expect(await countParts()).toEqual({ made: 1, open: 1 });
    const admin = new pg.Client({ connectionString: test.url });
    await admin.connect();
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dying'",
    );
    await admin.end();
    await sealing.sealAll();
    await expectAllSealedOnce(18);
    go();
    expect(await killed).toBeInstanceOf(Error);
    await dying.close();
  });

  it('are thrown away when another sealer has sealed the rows without them', async () => {
    await writeBacklog(6, 5);
    await plan();
    expect(await makePart(toolsOf(test.database))).toBe('made');
    const { rows: before } = await test.database.query('SELECT * FROM audit_seal_parts ORDER BY part');
    await test.database.query('DELETE FROM audit_seal_parts');
    await sealing.sealAll();
    for (const row of before)
      await test.database.query(
        `INSERT INTO audit_seal_parts SELECT * FROM jsonb_populate_record(NULL::audit_seal_parts, $1)`,
        [
          JSON.stringify({
            ...row,
            assignment_signature: hex(row, 'assignment_signature'),
            result_signature: hex(row, 'result_signature'),
          }),
        ],
      );
    const [tenant] = await writeBacklog(3);
    expect(tenant).toBeDefined();
    await sealing.sealAll();
    await expectAllSealedOnce(16);
    expect(await countParts()).toEqual({ made: 0, open: 0 });
  });

  it.each([
    ['a checkpoint', 'UPDATE audit_seal_parts SET checkpoints = replace(checkpoints, \'"n":\', \'"n": \')'],
    ['what was made of it', 'UPDATE audit_seal_parts SET result = replace(result, \'"n":\', \'"n": \')'],
    [
      'whose rows it holds',
      'UPDATE audit_seal_parts SET assignment = replace(assignment, \'"part":\', \'"part": \')',
    ],
    ['a signature', 'UPDATE audit_seal_parts SET result_signature = assignment_signature'],
    ['the number of parts', 'DELETE FROM audit_seal_parts WHERE part = 0'],
    [
      'rows of the log',
      `INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind, xid)
       SELECT gen_random_uuid(), tenant_id, 'forged', 'success', 'system', xid FROM audit_log
       WHERE (xid, id) > (SELECT last_xid, last_id FROM audit_head) ORDER BY xid DESC, id DESC LIMIT 1`,
    ],
  ] as const)('are made anew when another hand has changed %s', async (name, statement) => {
    await writeBacklog(6, 5, 4);
    await plan();
    await makePart(toolsOf(test.database));
    if (!name.startsWith('rows')) for (;;) if ((await makePart(toolsOf(test.database))) !== 'made') break;
    await tamper(test.database, [statement]);
    await sealing.sealAll();
    await expectAllSealedOnce(name.startsWith('rows') ? 17 : 16);
  });

  it('take transaction ids for numbers, whatever their length', async () => {
    const contexts = await Promise.all([1, 2].map(() => createTenantContext(test.database)));
    const xids = [3, 3, 3, 3, 3, 3, 3, 3, 9, 10, 11, 12, 99, 100, 101, 102, 103];
    for (const [index, xid] of xids.entries())
      await test.database.query(
        `INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind, xid)
         VALUES (gen_random_uuid(), $1, 'old', 'success', 'operator', $2::text::xid8)`,
        [contexts[index % 2]?.tenant.id, xid],
      );
    await sealing.sealAll();
    await expectAllSealedOnce(17);
    const { rows } = await test.database.query<{ count: number; last: string }>(
      'SELECT count, last_xid::text AS last FROM audit_seals ORDER BY n',
    );
    expect(rows).toEqual([
      { count: 8, last: '3' },
      { count: 9, last: '103' },
    ]);
  });

  it('seal what three write while three seal, each row once', async () => {
    const contexts = await Promise.all([1, 2, 3].map(() => createTenantContext(test.database)));
    const running = [1, 2, 3].map(() => sealing.newSealer().start());
    await Promise.all(contexts.map((context) => sealing.write(context, 60)));
    await Promise.all(running.map((sealer) => sealer.stop()));
    await sealing.sealAll();
    await expectAllSealedOnce(180);
  });
});

const hex = (row: object, column: string) => {
  const value = new Map(Object.entries(row)).get(column);
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : null;
};
