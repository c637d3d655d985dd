// Notes and proofs judged by software that nobody here wrote: Go's libraries for signed notes, and those of
// transparency-dev for Merkle trees.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  presentCheckpoints,
  presentConsistencyProof,
  presentInclusionProof,
} from '../../src/audit/audit.schemas.ts';
import { TenantErasureService } from '../../src/operations/erasure/tenant-erasure.service.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import { createOperatorRooms } from '../operations/operators/operator-rooms.ts';
import { createTestDatabase } from '../setup/database.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { createSealing, type Sealing } from './sealing.ts';

const hasGo = spawnSync('go', ['version']).status === 0;
/** Where the whole is judged, Go must be there. */
const isRequired = Boolean(process.env.CI);

type Download = {
  keys: string[];
  checkpoints: { tree_size: number; note: string | null }[];
  inclusion: ReturnType<typeof presentInclusionProof>[];
  consistency: ReturnType<typeof presentConsistencyProof>[];
  certificates?: string[];
};

let test: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;
let program: string;
let download: Download;
let erased: Erased;

describe.skipIf(!hasGo && !isRequired)('an auditor with Go', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-auditor-'));
    program = join(folder, 'auditor');
    await promisify(execFile)('go', ['build', '-o', program, '.'], {
      cwd: join(import.meta.dirname, 'auditor'),
    });
    test = await createTestDatabase();
    ({ download, erased } = await downloadLog());
  });
  afterAll(async () => {
    await test?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it('verifies each note, the inclusion of each line, and each two checkpoints', () => {
    expect(download.checkpoints).toHaveLength(SEALS.length);
    const rows = SEALS.reduce((sum, count) => sum + count, 0);
    const pairs = (SEALS.length * (SEALS.length + 1)) / 2;
    expect(audit(download)).toEqual({
      status: 0,
      stderr: '',
      stdout: `verified ${SEALS.length} notes, ${rows} inclusion proofs, ${pairs} consistency proofs\n`,
    });
  });

  it('says yes after another tenant, or the tenant itself, was erased, and verifies the certificate', () => {
    const { certificate, key, before, after } = erased;
    const kept = `verified ${SEALS.length} notes, 0 inclusion proofs, 0 consistency proofs\n`;
    // What the tenant had kept of its own log, with the key that it had noted.
    expect(audit({ ...before, certificates: [certificate] })).toEqual({
      status: 0,
      stderr: '',
      stdout: `verified the erasure of ${erased.tenantId}\n${kept}`,
    });
    expect(before.keys).toContain(key);
    // What the other tenant reads afterwards.
    expect(after).toEqual(download);
    expect(audit(after).status).toBe(0);
    const forged = certificate.replace('removed audit_log', 'removed audit_lag');
    expect(forged).not.toBe(certificate);
    expect(audit({ ...before, certificates: [forged] })).toMatchObject({ status: 1, stdout: '' });
  });

  it.each<[string, (copy: Download) => void]>([
    [
      'a note of another size',
      ({ checkpoints: [first] }) => edit(first, 'note', (note) => note.replace('\n1\n', '\n2\n')),
    ],
    ['a note with another root', ({ checkpoints: [first] }) => edit(first, 'note', swapRoot)],
    [
      'the key of another log',
      (copy) => copy.keys.splice(0, 1, copy.keys[0]?.replace('audit/', 'audit/x') ?? ''),
    ],
    ['an entry that was changed', ({ inclusion: [first] }) => edit(first, 'entry', flipLast)],
    [
      'another place of an entry',
      ({ inclusion: [first] }) => first !== undefined && Object.assign(first, { index: 1 }),
    ],
    ['another hash of an inclusion', ({ inclusion }) => inclusion[3]?.hashes.splice(0, 1, ZEROS)],
    ['another hash of a consistency', ({ consistency }) => consistency[1]?.hashes.splice(0, 1, ZEROS)],
  ])('refuses %s', (_, change) => {
    const copy = structuredClone(download);
    change(copy);
    expect(copy).not.toEqual(download);
    expect(audit(copy)).toMatchObject({ status: 1, stdout: '' });
  });
});

const SEALS = [1, 6, 1, 9, 17, 2];
const ZEROS = Buffer.alloc(32).toString('base64');

type Erased = { tenantId: string; certificate: string; key: string; before: Download; after: Download };

/** Two logs that are sealed in parts, one beside the other; afterwards the tenant of the second is erased. */
async function downloadLog(): Promise<{ download: Download; erased: Erased }> {
  const sealing = createSealing(test.database, { pageRows: 4 });
  const [context, other] = [
    await createTenantContext(test.database),
    await createTenantContext(test.database),
  ];
  for (const count of SEALS) {
    await sealing.write(context, count, { text: 'ü' });
    await sealing.write(other, 1);
    await sealing.sealAll();
  }
  const download = await readLog(sealing, context);
  const before = { ...(await readLog(sealing, other)), inclusion: [], consistency: [] };
  const { note: certificate, key } = await erase(other.tenant.id);
  expect((await sealing.verify()).findings).toEqual([]);
  const after = await readLog(sealing, context);
  return { download, erased: { tenantId: other.tenant.id, certificate, key, before, after } };
}

async function erase(tenantId: string) {
  const rooms = createOperatorRooms(test.database);
  const pulse = { heartbeat: () => undefined, signal: new AbortController().signal };
  await test.database.query(
    'INSERT INTO tenant_ends (tenant_id, erase_at, was_suspended) VALUES ($1, now(), false)',
    [tenantId],
  );
  const histories = { remove: async () => 0 };
  const erasure = new TenantErasureService({ ...rooms, database: test.database, histories });
  expect((await erasure.erase({ tenantId }, pulse)).status).toBe('erased');
  return rooms.certificates.show(tenantId);
}

/** What an auditor reads of a log. */
async function readLog(sealing: Sealing, context: RequestContext): Promise<Download> {
  const { data, note_keys: keys } = presentCheckpoints(
    await sealing.reading.listCheckpoints(context, { limit: 50 }),
  );
  const { data: lines } = await sealing.reading.list(context, { limit: 100 });
  const inclusion = [];
  for (const { id } of lines)
    inclusion.push(
      presentInclusionProof(await sealing.proofs.proveInclusion(context, { id, size: undefined })),
    );
  const sizes = data.map((checkpoint) => checkpoint.tree_size);
  const consistency = [];
  for (const from of sizes)
    for (const to of sizes.filter((size) => size >= from))
      consistency.push(presentConsistencyProof(await sealing.proofs.proveConsistency(context, { from, to })));
  return {
    keys,
    checkpoints: data.map(({ tree_size, note }) => ({ tree_size, note })).reverse(),
    inclusion: inclusion.sort((a, b) => a.index - b.index),
    consistency,
  };
}

function audit(input: Download) {
  const { status, stdout, stderr } = spawnSync(program, { input: JSON.stringify(input), encoding: 'utf8' });
  return { status, stdout, stderr };
}

function edit<Key extends string>(
  of: { [key in Key]: string | null } | undefined,
  key: Key,
  change: (text: string) => string,
): void {
  if (of !== undefined) of[key] = change(of[key] ?? '');
}

const swapRoot = (note: string) => note.replace(/\n[A-Za-z0-9+/=]{44}\n/, `\n${ZEROS}\n`);

function flipLast(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return bytes.toString('base64');
}
