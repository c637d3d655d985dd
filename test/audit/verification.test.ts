// Everything that a superuser can do to the audit log behind the service's back, and what verification says of it.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { checkpointStatement, headStatement } from '../../src/audit/checkpoint.ts';
import { type AuditKey, createCheckpointSigner } from '../../src/audit/checkpoint-signature.node.ts';
import { parseAnchor } from '../../src/audit/verification.ts';
import type { RequestContext } from '../../src/platform/context.ts';

import { newId } from '../../src/platform/database/ids.ts';
import { createTestDatabase } from '../setup/database.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { createSealing, type Sealing, tamper } from './sealing.ts';

type Test = Awaited<ReturnType<typeof createTestDatabase>>;
const opened: Test[] = [];
let test: Test;
let sealing: Sealing;
let own: RequestContext;
let other: RequestContext;
let ids: string[];

/** Two tenants; three seals of four rows each, the last only of the first tenant. */
beforeEach(async () => {
  test = await createTestDatabase();
  opened.push(test);
  sealing = createSealing(test.database, { pageRows: 3 });
  own = await createTenantContext(test.database);
  other = await createTenantContext(test.database);
  for (const contexts of [[own, other], [own, other], [own]]) {
    for (const context of contexts)
      await sealing.write(context, 4, { text: 'ü', big: 1e21, list: [1, null] });
    await sealing.sealAll();
  }
  const { rows } = await test.database.query<{ id: string }>(
    'SELECT id FROM audit_log WHERE tenant_id = $1 ORDER BY xid, id',
    [own.tenant.id],
  );
  ids = rows.map(({ id }) => id);
});

afterAll(() => Promise.all(opened.map((database) => database.drop())));

const run = (...statements: [text: string, values?: unknown[]][]) => tamper(test.database, ...statements);
const kinds = async () => (await sealing.verify()).findings.map(({ kind }) => kind);
const COPY = `INSERT INTO audit_log (id, tenant_id, occurred_at, action, outcome, actor_kind, xid)`;

describe('a log that nobody touched', () => {
  it('is verified whole, as a whole and by tenant', async () => {
    const all = await sealing.verify();
    expect(all.findings).toEqual([]);
    expect(all.report).toMatchObject({ tenants: 2, rows: 20, findings: 0, sealedLate: 0 });
    const one = await sealing.verify({ tenantId: other.tenant.id });
    expect(one).toMatchObject({ findings: [], report: { tenants: 1, rows: 8 } });
  });

  it('says how many rows are not sealed yet', async () => {
    await sealing.write(own, 3);
    await sealing.write(other, 2);
    const { report } = await sealing.verify();
    expect(report).toMatchObject({ rows: 20, findings: 0, unsealed: { rows: 5 } });
    expect(Date.parse(report.unsealed.oldest ?? '')).toBeGreaterThan(Date.now() - 60_000);
    expect((await sealing.verify({ tenantId: own.tenant.id })).report.unsealed.rows).toBe(3);
  });
});

describe('an edited row', () => {
  it.each([
    ["action = 'agent.deleted'"],
    ["outcome = 'failure'"],
    ["reason = 'invalid_token'"],
    ["actor_id = 'somebody'"],
    ["target_type = ''"],
    ["address = '192.0.2.9'"],
    ["client_address = '192.0.2.9'"],
    ['address_salt = NULL'],
    ['request_id = NULL'],
    ['data = data || \'{"index": 1.0000000000000000001}\''],
    ["occurred_at = occurred_at + interval '1 millisecond'"],
    ["occurred_at = 'infinity'"],
    ['key_id = gen_random_uuid()'],
  ])('is found and named: %s', async (change) => {
    await run([`UPDATE audit_log SET ${change} WHERE id = $1`, [ids[5]]]);
    expect((await sealing.verify()).findings).toMatchObject([
      { kind: 'row_changed', tenantId: own.tenant.id, rowId: ids[5], checkpoint: expect.any(Number) },
    ]);
    expect((await sealing.verify({ tenantId: other.tenant.id })).findings).toEqual([]);
  });

  it('is found when it was given another id, transaction or tenant', async () => {
    await run(['UPDATE audit_log SET id = $2 WHERE id = $1', [ids[1], newId()]]);
    expect(new Set(await kinds())).toEqual(new Set(['row_added', 'row_removed']));
    await run(["UPDATE audit_log SET xid = '3' WHERE id = $1", [ids[2]]]);
    await run(['UPDATE audit_log SET tenant_id = $2 WHERE id = $1', [ids[6], other.tenant.id]]);
    const { findings } = await sealing.verify();
    expect(findings).toContainEqual(expect.objectContaining({ rowId: ids[2] }));
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'row_removed', rowId: ids[6], tenantId: own.tenant.id }),
    );
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'row_added', rowId: ids[6], tenantId: other.tenant.id }),
    );
  });

  it('is found although its leaf, or the whole list of leaves and the root, were made to fit', async () => {
    const edit = "UPDATE audit_log SET action = 'nothing' WHERE id = $1";
    await run([edit, [ids[0]]]);
    await run([
      "UPDATE audit_checkpoints SET leaves = overlay(leaves placing decode(repeat('ab', 32), 'hex') from 1)",
    ]);
    expect(await kinds()).toContain('rows_differ');
    await run(["UPDATE audit_checkpoints SET root = decode(repeat('cd', 32), 'hex')"]);
    expect(await kinds()).toContain('checkpoint_changed');
  });
});

describe('rows that changed places', () => {
  it('are found although each is as it was sealed', async () => {
    const { rows } = await test.database.query<{ id: string; xid: string }>(
      'SELECT id, xid::text FROM audit_log WHERE id = ANY($1) ORDER BY xid, id',
      [ids.slice(0, 2)],
    );
    const [first, second] = rows;
    await run(
      ['UPDATE audit_log SET xid = $2::text::xid8 WHERE id = $1', [first?.id, second?.xid]],
      ['UPDATE audit_log SET xid = $2::text::xid8 WHERE id = $1', [second?.id, first?.xid]],
    );
    const { findings } = await sealing.verify();
    expect(findings.map(({ kind, rowId }) => [kind, rowId]).sort()).toEqual(
      [first?.id, second?.id].map((id) => ['row_changed', id]).sort(),
    );
  });
});

describe('a removed row', () => {
  it.each([0, 4, 11])('is found and named: number %i', async (index) => {
    await run(['DELETE FROM audit_log WHERE id = $1', [ids[index]]]);
    expect((await sealing.verify()).findings).toMatchObject([{ kind: 'row_removed', rowId: ids[index] }]);
  });

  it('is found for each of a whole tenant', async () => {
    await run(['DELETE FROM audit_log WHERE tenant_id = $1', [other.tenant.id]]);
    expect(await kinds()).toEqual(Array.from({ length: 8 }, () => 'row_removed'));
  });
});

describe('an added row', () => {
  it('is found and named, between others, before the first, and behind the last', async () => {
    for (const [place, tenant] of [
      [5, own],
      [0, own],
      [11, other],
    ] as const) {
      const id = newId();
      await run([
        `${COPY} SELECT $1, $2, occurred_at, 'forged', 'success', 'operator', xid FROM audit_log WHERE id = $3`,
        [id, tenant.tenant.id, ids[place]],
      ]);
      const { findings } = await sealing.verify();
      expect(findings).toContainEqual(expect.objectContaining({ kind: 'row_added', rowId: id }));
    }
    expect(await kinds()).toEqual(['row_added', 'row_added', 'row_added']);
  });

  it('is found when it was written today, is dated back, and was sealed like any other', async () => {
    const id = newId();
    await test.database.query(
      `${COPY} VALUES ($1, $2, now() - interval '1 day', 'forged', 'success', 'operator', pg_current_xact_id())`,
      [id, own.tenant.id],
    );
    await sealing.sealAll();
    await sealing.write(own, 2);
    await sealing.sealAll();
    expect((await sealing.verify()).findings).toMatchObject([{ kind: 'row_back_dated', rowId: id }]);
  });

  it('does not pass for an unsealed one by a transaction of the future', async () => {
    const id = newId();
    await run([
      `${COPY} VALUES ($1, $2, now() + interval '1 day', 'forged', 'success', 'operator', pg_current_xact_id())`,
      [id, own.tenant.id],
    ]);
    await sealing.write(own, 2);
    await sealing.sealAll();
    expect((await sealing.verify()).findings).toMatchObject([{ kind: 'row_back_dated', rowId: id }]);
  });
});

describe('a checkpoint', () => {
  const SECOND = 'tenant_id = $1 AND n = 2';

  it('that is gone is named, and what it held cannot be verified', async () => {
    await run([`DELETE FROM audit_checkpoints WHERE ${SECOND}`, [own.tenant.id]]);
    expect((await sealing.verify()).findings).toContainEqual(
      expect.objectContaining({ kind: 'checkpoint_missing', tenantId: own.tenant.id, checkpoint: 2 }),
    );
  });

  it.each([
    'count = count + 1',
    "sealed_at = sealed_at - interval '1 day'",
    "sealed_at = 'infinity'",
    'last_id = first_id',
    "last_xid = '9'",
    'seal = 1',
    "key_id = 'other'",
    "signature = decode(repeat('00', 64), 'hex')",
    'row_ids = row_ids[2:]',
    "previous = decode(repeat('00', 32), 'hex')",
    'tree_size = tree_size + 1',
    "nodes = decode(repeat('00', 32), 'hex')",
    "nodes = ''",
    "peaks = decode(repeat('00', 32), 'hex')",
  ])('that was edited is named: %s', async (change) => {
    await run([`UPDATE audit_checkpoints SET ${change} WHERE ${SECOND}`, [own.tenant.id]]);
    const { findings } = await sealing.verify();
    const named = findings.filter(({ kind }) => kind.startsWith('checkpoint_'));
    expect(named.length).toBeGreaterThan(0);
    expect(named[0]).toMatchObject({ tenantId: own.tenant.id, checkpoint: 2 });
  });

  it('that changed places with another is named', async () => {
    await run(
      ['UPDATE audit_checkpoints SET n = -1 WHERE tenant_id = $1 AND n = 1', [own.tenant.id]],
      ['UPDATE audit_checkpoints SET n = 1 WHERE tenant_id = $1 AND n = 2', [own.tenant.id]],
      ['UPDATE audit_checkpoints SET n = 2 WHERE tenant_id = $1 AND n = -1', [own.tenant.id]],
    );
    expect(await kinds()).toContain('checkpoint_changed');
  });

  it('signed with a key of the forger does not pass', async () => {
    const forger = createSealing(test.database, {
      auditKeys: [{ key: new Uint8Array(32).fill(9) }],
    });
    await expect(forger.sealer.runOnce()).rejects.toThrow('belongs to none of the audit keys');
    await signHead([{ key: new Uint8Array(32).fill(9) }]);
    await forger.write(own, 1, { forged: true });
    await forger.sealAll();
    expect(await kinds()).toEqual(['head_changed']);
  });
});

/** Signs the head that is there with a key that is derived from other audit keys. */
async function signHead(auditKeys: readonly AuditKey[]): Promise<void> {
  const head = await sealing.checkpoints.readHead(test.database);
  if (head === undefined) throw new Error('no head');
  const signer = createCheckpointSigner({ auditKeys });
  await sealing.checkpoints.keepKey(test.database, signer.keyId, signer.publicKey);
  const signature = signer.sign(headStatement(head, signer.keyId));
  await run(['UPDATE audit_head SET key_id = $1, signature = $2', [signer.keyId, Buffer.from(signature)]]);
}

describe('a tail that was cut off', () => {
  const CHECKPOINT = ['DELETE FROM audit_checkpoints WHERE tenant_id = $1 AND n = 3'] as const;
  const ROWS = 'DELETE FROM audit_log WHERE id = ANY($1)';

  it('is found with its rows, with its checkpoint, with its seal, and for good', async () => {
    const tail = ids.slice(8);
    await run([CHECKPOINT[0], [own.tenant.id]], [ROWS, [tail]]);
    expect((await sealing.verify()).findings).toMatchObject([
      { kind: 'checkpoint_missing', tenantId: own.tenant.id, checkpoint: 3 },
    ]);
    expect((await sealing.verify({ tenantId: own.tenant.id })).report.findings).toBe(1);
    await run(['DELETE FROM audit_seals WHERE n = (SELECT max(n) FROM audit_seals)']);
    expect(await kinds()).toEqual(['seal_missing']);
    await sealing.write(own, 2);
    await sealing.sealAll();
    expect(await kinds()).toContain('seal_missing');
  });

  it('is found when the head was set back by hand, or taken away', async () => {
    await run([CHECKPOINT[0], [own.tenant.id]], [ROWS, [ids.slice(8)]]);
    await run(
      ['DELETE FROM audit_seals WHERE n = (SELECT max(n) FROM audit_seals)'],
      [
        `UPDATE audit_head SET n = s.n, last_xid = s.last_xid, last_id = s.last_id
        FROM audit_seals s WHERE s.n = (SELECT max(n) FROM audit_seals)`,
      ],
    );
    expect(await kinds()).toContain('head_changed');
    await run(['DELETE FROM audit_head']);
    expect(await kinds()).toEqual(['head_changed']);
  });

  it('is found by a checkpoint that was kept elsewhere, when everything else was set back with it', async () => {
    const head = await test.database.query('SELECT * FROM audit_head');
    const { data } = await sealing.reading.listCheckpoints(own, { limit: 1 });
    await sealing.write(own, 1);
    await sealing.sealAll();
    const anchors = await anchorsOf(own);
    expect((await sealing.verify({ anchors })).findings).toEqual([]);
    const [old] = head.rows as Record<string, unknown>[];
    await run(
      ['DELETE FROM audit_log WHERE id <> ALL($1) AND tenant_id = $2', [ids, own.tenant.id]],
      ['DELETE FROM audit_checkpoints WHERE tenant_id = $1 AND n > $2', [own.tenant.id, data[0]?.n]],
      ['DELETE FROM audit_seals WHERE n > $1', [old?.n]],
      [
        'UPDATE audit_head SET n = $1, hash = $2, last_xid = $3, last_id = $4, signature = $5',
        [old?.n, old?.hash, old?.last_xid, old?.last_id, old?.signature],
      ],
    );
    expect(await kinds()).toEqual([]);
    expect((await sealing.verify({ anchors })).findings).toMatchObject([
      { kind: 'anchor_differs', tenantId: own.tenant.id },
    ]);
  });

  async function anchorsOf(context: RequestContext) {
    const { data } = await sealing.reading.listCheckpoints(context, { limit: 50 });
    return data
      .map((checkpoint) => parseAnchor(checkpointStatement(checkpoint)))
      .filter((anchor) => anchor !== undefined);
  }
});
