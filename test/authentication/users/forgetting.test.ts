// A user whose name stands nowhere else, before and after the user is forgotten: in every table, in Temporal, in logs
// and in traces; and an auditor with Go, who says yes before and after.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { readRows, readTemporal } from '../../redaction/places.ts';
import { type Processes, startProcesses } from '../../redaction/processes.ts';
import { createSecrets } from '../../redaction/secrets.ts';
import { takePort } from '../../setup/ports.ts';
import { eventually, installRuntimeOnce } from '../../workflows/delivery-engine.ts';
import { inventUser, liveAsUser, type OpenTenant, openTenant } from './named-user.ts';

let processes: Processes;
let connection: Connection;
let client: Client;
let folder: string;

beforeAll(async () => {
  installRuntimeOnce();
  processes = await startProcesses(createSecrets(), { TRUSTED_PROXIES: '127.0.0.0/8' });
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = createTemporalClient(connection, processes);
  folder = await mkdtemp(join(tmpdir(), 'countersign-forgetting-'));
});
afterAll(async () => {
  await processes?.stop();
  await processes?.close();
  await connection?.close();
  await rm(folder, { recursive: true, force: true });
});

const user = inventUser();
const other = inventUser();

const tablesWith = async ({ findIn }: typeof user) =>
  [...(await readRows(processes.database))]
    .flatMap(([table, text]) => {
      const found = findIn(text);
      return found.length === 0 ? [] : [`${table.replace(/_\d{8}$/, '')}: ${found.join(', ')}`];
    })
    .sort();

type Line = {
  id: string;
  action: string;
  address: string;
  data: Record<string, unknown>;
  user: { id: string; issuer: string | null; sub: string | null } | null;
};

/** The lines of the audit log that are about a user, and all lines with their proofs, when all are sealed. */
async function readLog({ manage }: OpenTenant) {
  const { data } = (await manage('GET', '/audit-logs?limit=200')) as unknown as { data: Line[] };
  await eventually(async () => {
    const [newest] = data;
    const sealed = await manage('GET', `/audit-logs/${newest?.id}/inclusion-proof`).catch(() => undefined);
    return sealed !== undefined;
  }, 'the seal');
  const inclusion = new Map<string, Record<string, unknown>>();
  for (const { id } of data) inclusion.set(id, await manage('GET', `/audit-logs/${id}/inclusion-proof`));
  const checkpoints = (await manage('GET', '/audit-logs/checkpoints?limit=200')) as {
    data: { tree_size: number; note: string }[];
    note_keys: string[];
  };
  return { lines: data.filter((line) => line.user !== null), inclusion, checkpoints };
}
/** The ids of the lines that the filter by address finds. */
async function idsFrom({ manage }: OpenTenant, address: string): Promise<string[]> {
  const path = `/audit-logs?limit=200&address=${encodeURIComponent(address)}`;
  return ((await manage('GET', path)) as unknown as { data: Line[] }).data.map(({ id }) => id);
}

type Log = Awaited<ReturnType<typeof readLog>>;

/** @param from tree size of a checkpoint that was kept */
async function judge({ manage }: OpenTenant, program: string, { inclusion, checkpoints }: Log, from: number) {
  const input = {
    keys: checkpoints.note_keys,
    checkpoints: checkpoints.data.map(({ tree_size, note }) => ({ tree_size, note })).reverse(),
    inclusion: [...inclusion.values()],
    consistency: [await manage('GET', `/audit-logs/consistency-proof?from=${from}`)],
  };
  const { status, stdout, stderr } = spawnSync(program, { input: JSON.stringify(input), encoding: 'utf8' });
  return { status, stderr, stdout };
}

it('a forgotten user is found nowhere any more, and the auditor says yes to the same entries', async () => {
  const program = join(folder, 'auditor');
  const source = join(import.meta.dirname, '../../audit/auditor');
  await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: source });
  const tenant = await openTenant(processes);
  for (const one of [user, other]) one.noteDigest(processes.tenant.tenant_id);
  const webhook = await tenant.manage('POST', '/webhooks', {
    url: `http://127.0.0.1:${await takePort()}/hook`,
    event_types: ['admin.delegation.revoked', 'auth.token.issued', 'auth.token.revoked'],
  });
  const token = await liveAsUser(tenant, user);
  const kept = await liveAsUser(tenant, other);
  await eventually(async () => {
    const { rows } = await processes.database.query(
      'SELECT 1 FROM deliveries WHERE subscription_id = $1 AND started_generation IS NOT NULL',
      [webhook.id],
    );
    return rows.length > 0;
  }, 'a workflow of a delivery');

  // Before: no table holds the name or an address in plain.
  expect(await tablesWith(user)).toEqual([]);
  const before = await readLog(tenant);
  const ofUser = before.lines.filter(({ user: named }) => named?.sub === user.sub);
  expect(new Set(ofUser.map(({ action }) => action))).toEqual(
    new Set(['delegation.created', 'delegation.revoked', 'auth.token.issued', 'auth.token.revoked']),
  );
  expect(new Set(ofUser.map(({ address }) => address))).toEqual(new Set([user.address]));
  expect(await idsFrom(tenant, user.address)).toEqual(expect.arrayContaining(ofUser.map(({ id }) => id)));
  expect(ofUser.map(({ data }) => data.reason)).toContain(`${user.sub} asked for it`);
  const size = before.checkpoints.data[0]?.tree_size ?? 0;
  expect(await judge(tenant, program, before, size)).toMatchObject({ status: 0, stderr: '' });

  const subject = { issuer: tenant.issuer, sub: user.sub };
  const [id] = ofUser.map((line) => line.user?.id);
  expect(await tenant.manage('POST', '/users/forget', { subject })).toEqual({
    forgotten: true,
    user_id: id,
    revoked_delegations: 2,
  });
  expect(await tenant.manage('POST', '/users/forget', { subject })).toEqual({
    forgotten: false,
    user_id: null,
    revoked_delegations: 0,
  });

  // After: not even the digest of the name, in any table, history or trace; the other user is as before.
  expect(await tablesWith(user)).toEqual([]);
  expect((await readTemporal(client)).flatMap((one) => user.findIn(one))).toEqual([]);
  const after = await readLog(tenant);
  const stillFound = new Set(await idsFrom(tenant, user.address));
  expect(ofUser.filter((line) => stillFound.has(line.id))).toEqual([]);
  for (const line of ofUser)
    expect(after.lines.find((one) => one.id === line.id)).toEqual({
      ...line,
      address: 'forgotten',
      data: 'reason' in line.data ? { ...line.data, reason: 'forgotten' } : line.data,
      user: { id, issuer: null, sub: null },
    });
  for (const [entry, { entry: bytes, leaf_hash: leaf }] of before.inclusion)
    expect(after.inclusion.get(entry)).toMatchObject({ entry: bytes, leaf_hash: leaf });
  expect(await judge(tenant, program, after, size)).toMatchObject({ status: 0, stderr: '' });
  const { stdout } = await processes.command(['audit', 'verify', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true, findings: [] });

  // No agent acts in the user's name any more, and a user of the same name is another one.
  expect((await tenant.introspect(token)).body).toEqual({ active: false });
  expect((await tenant.introspect(kept)).body).toMatchObject({ active: true });
  const { data: revoked } = (await tenant.manage('GET', '/delegations?limit=200')) as unknown as {
    data: { subject: object; status: string; revoked_reason: string | null }[];
  };
  const left = revoked.filter((one) => (one.subject as { id: string }).id === id);
  expect(left.map(({ status, revoked_reason }) => [status, revoked_reason])).toEqual([
    ['revoked', 'user_forgotten'],
    ['revoked', 'user_forgotten'],
    ['revoked', null],
  ]);
  expect(left[0]?.subject).toEqual({ id, issuer: null, sub: null });
  const again = await tenant.delegate(user, (await tenant.newAgent()).id);
  expect((again.subject as { id: string }).id).not.toBe(id);

  await processes.stop();
  const logs = processes.logs();
  expect(logs).toContain('"level":"debug"');
  // The log of requests has addresses, as docs/erasure.md says; it never has a name.
  expect(user.findIn(logs)).toEqual(['address']);
  expect(user.findIn(processes.traces())).toEqual([]);
});
