// `countersign audit verify` from its options to its lines and its exit code.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { presentCheckpoints } from '../../src/audit/audit.schemas.ts';
import { registerAuditCommands } from '../../src/operations/operators/audit.commands.ts';
import { createAccounts, requestTo } from '../authentication/tokens/accounts.ts';
import { useTestDatabase } from '../setup/database.ts';
import { createSealing, tamper } from './sealing.ts';

const test = await useTestDatabase();
const folder = await mkdtemp(join(tmpdir(), 'countersign-audit-'));
const accounts = createAccounts(test.database);
const sealing = createSealing(test.database);
for (const slug of ['acme', 'globex']) await accounts.tenants.create({ slug });
await sealing.sealAll();

afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(...options: string[]) {
  const lines: string[] = [];
  const progress: string[] = [];
  let code = 0;
  let closed = 0;
  const program = new Command().exitOverride();
  registerAuditCommands(program.command('audit'), {
    open: async () => ({
      tenants: accounts.tenants,
      auditVerification: sealing.verification,
      close: async () => {
        closed += 1;
      },
    }),
    print: (line) => lines.push(line),
    tell: (line) => progress.push(line),
    fail: (exitCode) => {
      code = exitCode;
    },
  });
  const error = await program.parseAsync(['audit', 'verify', ...options], { from: 'user' }).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  return { lines, progress, code, closed, error };
}

/** Runs with a clock that goes forward by so many milliseconds whenever it is read. */
async function withSlowClock<Result>(step: number, work: () => Promise<Result>): Promise<Result> {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += step;
    return now;
  });
  return work().finally(() => clock.mockRestore());
}

const contextOf = async (slug: string) => {
  const tenant = await accounts.tenants.bySlug(slug);
  if (tenant === undefined) throw new Error(`no tenant ${slug}`);
  return requestTo(tenant);
};

describe('audit verify', () => {
  it('says what it read and what is not sealed yet, and ends with 0', async () => {
    const all = await run();
    expect(all).toMatchObject({ code: 0, closed: 1, error: undefined });
    expect(all.lines[0]).toMatch(/^The audit log is as it was sealed: \d+ rows of 2 tenants/);
    expect(all.lines[2]).toMatch(/^The log began at \d{4}-/);
    await sealing.write(await contextOf('acme'), 2);
    expect((await run('--tenant', 'acme')).lines[1]).toMatch(
      /^Not sealed yet, and not verified: 2 rows .*2 seconds/,
    );
    await sealing.sealAll();
    expect(await run('--tenant', 'nobody')).toMatchObject({
      closed: 1,
      error: { message: 'There is no tenant "nobody".' },
    });
  });

  it('says on stderr how far it is, every five seconds', async () => {
    const context = await contextOf('acme');
    const entry = { action: 'agent.created', outcome: 'success', data: {} } as const;
    await sealing.records.write(test.database, context, {
      audit: Array.from({ length: 3_500 }, () => entry),
    });
    await sealing.sealAll();
    const quick = await run();
    expect(quick).toMatchObject({ code: 0, progress: [] });
    const slow = await withSlowClock(2_000, () => run('--json'));
    const { rows, seals } = JSON.parse(slow.lines.join('')) as { rows: number; seals: number };
    expect(slow.lines).toHaveLength(1);
    expect(slow.progress.length).toBeGreaterThan(1);
    for (const line of slow.progress)
      expect(line).toMatch(new RegExp(`^(?:seals: \\d+ of ${seals}|rows: \\d+ of ${rows}) looked at$`));
    expect(slow.progress.at(-1)).toMatch(/^rows: \d{4} /);
    const one = await withSlowClock(6_000, () => run('--tenant', 'acme'));
    expect(one.progress.at(-1)).toMatch(/^rows: 3\d{3} looked at$/);
  });

  it('says in one line what it found, by name, and ends with 1', async () => {
    const context = await contextOf('globex');
    const anchors = join(folder, 'anchors.json');
    const kept = await sealing.reading.listCheckpoints(context, { limit: 50 });
    await writeFile(anchors, JSON.stringify(presentCheckpoints(kept)));
    expect(await run('--anchors', anchors)).toMatchObject({ code: 0 });
    const note = join(folder, 'note');
    await writeFile(note, kept.data[0]?.note ?? '');
    expect(await run('--anchors', note)).toMatchObject({ code: 0 });
    await writeFile(note, (kept.data[0]?.note ?? '').replace(/\n[^\n]{44}\n/, `\n${'A'.repeat(43)}=\n`));
    expect((await run('--anchors', note)).lines[0]).toMatch(
      /^anchor_differs: tenant globex, checkpoint \d+: /,
    );
    const { rows } = await test.database.query<{ id: string }>(
      'SELECT id FROM audit_log WHERE tenant_id = $1 ORDER BY xid, id LIMIT 1',
      [context.tenant.id],
    );
    await tamper(test.database, ["UPDATE audit_log SET action = 'nothing' WHERE id = $1", [rows[0]?.id]]);
    const found = await run();
    expect(found.code).toBe(1);
    expect(found.lines[0]).toBe(
      `row_changed: tenant globex, checkpoint 1, row ${rows[0]?.id}: is not what was sealed`,
    );
    expect(await run('--tenant', 'acme')).toMatchObject({ code: 0 });
    const json = await run('--json');
    expect(json.lines).toHaveLength(1);
    expect(JSON.parse(json.lines[0] ?? '')).toMatchObject({
      intact: false,
      findings_count: 1,
      unsealed: { rows: 0, oldest: null },
      findings: [{ kind: 'row_changed', tenant: 'globex', checkpoint: 1, row_id: rows[0]?.id }],
    });
  });

  it('refuses a file of anchors that is none', async () => {
    const file = join(folder, 'broken.json');
    for (const text of ['{', '{"data":[{}]}', '{"data":[{"statement":"x"}]}']) {
      await writeFile(file, text);
      expect((await run('--anchors', file)).error?.message).toContain(file);
    }
    expect((await run('--anchors', join(folder, 'absent'))).error?.message).toContain('ENOENT');
  });
});
