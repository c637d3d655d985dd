// Each invariant of the list is broken in a real database, found by its own row and by no other, and seen in each place
// that reads the list: the doctor, the status, the metrics, restore-check, and, where it can be mended, the sweep.
import { Command } from 'commander';
import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { listInvariants } from '../../../src/app/wiring/invariants.ts';
import { DoctorService } from '../../../src/operations/doctor/doctor.service.ts';
import { createInvariantCheck } from '../../../src/operations/invariants/invariant.check.ts';
import { SweepService } from '../../../src/operations/invariants/sweep.service.ts';
import { measureInvariants } from '../../../src/operations/invariants/wire.ts';
import { registerRestoreCheckCommand } from '../../../src/operations/restores/restore-check.commands.ts';
import { StatusService } from '../../../src/operations/status/status.service.ts';
import { findTroubles } from '../../../src/operations/status/status.ts';
import { createReadings } from '../../../src/platform/metrics/reading.ts';
import { WorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import type { MendTools } from '../../../src/webhooks/relay/stuck-delivery.service.ts';
import { judgeStanding } from '../../../src/webhooks/standing/standing.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import { createTenantContext } from '../../webhooks/intake/fixture.ts';
import { CREATE_PLANTED, clean, PLANTED_SCHEMA, PLANTS, type Place } from './plants.ts';

const { database, url } = await useTestDatabase(PLANTED_SCHEMA);
await database.query(CREATE_PLANTED);
const place: Place = { database, url, context: await createTenantContext(database) };

const invariants = listInvariants({ masterKeys: [] });
const tools: MendTools = {
  database,
  commands: new WorkflowCommandService(),
  starter: { stateOf: async () => 'gone', signal: async () => false },
  lateSeconds: 120,
};
const sweep = new SweepService({
  database,
  invariants,
  tools,
  onFailure: (error) => expect.unreachable(String(error)),
});

const readBroken = async () => {
  const read = invariants.map(async ({ name, find, late }) =>
    (await find(database, late)).count > 0 ? [name] : [],
  );
  return (await Promise.all(read)).flat();
};

/** What is said of the invariants that are broken: by the doctor, in `status`, in the metrics, by `restore-check`. */
const PLACES: Readonly<Record<string, () => Promise<string[]>>> = {
  doctor: async () => {
    const codes: string[] = [];
    const reports = await examination().examine(
      { fix: false },
      { onFinding: ({ code }) => codes.push(code) },
    );
    expect(reports.filter(({ failure }) => failure !== null)).toEqual([]);
    return codes;
  },
  status: async () => {
    const status = new StatusService({
      ...{ database, invariants, version: '1' },
      backlog: async () => ({ rows: 0, oldestDue: 0, oldestCommand: 0 }),
      hosts: { listFailing: async () => [] },
      acts: { list: async () => [] },
      standing: {
        readAll: async () => judgeStanding({ states: [], failed: { deliveries: 0, groups: 0, largest: [] } }),
      },
      objectives: async () => new Map(),
      probeTemporal: async () => true,
    });
    const processes = [{ role: 'worker', count: 1, since: new Date(0) }];
    const troubles = findTroubles({ ...(await status.read()), processes });
    return troubles.map((line) => line.split(':')[0] ?? '');
  },
  metrics: async () => {
    const registry = new Registry();
    measureInvariants({ ...createTestPlatform(database), registry }, createReadings(), invariants);
    const text = await registry.metrics();
    expect(text).toContain('\ncountersign_invariants_unread 0\n');
    const read = (name: string) => [
      ...text.matchAll(
        new RegExp(
          `^countersign_invariant_${name}\\{invariant="(\\w+)",severity="(page|ticket)"\\} (.+)$`,
          'gm',
        ),
      ),
    ];
    expect(read('breaches')).toHaveLength(invariants.length);
    const broken = read('breaches').flatMap(([, name = '', , value]) => (value === '0' ? [] : [name]));
    for (const [, name = '', , age] of read('age_seconds'))
      if (name !== 'master_key_missing') expect(Number(age) > 0, name).toBe(broken.includes(name));
    return broken;
  },
  'restore-check': async () => {
    const lines: string[] = [];
    const command = new Command();
    const restores = {
      prepare: async () => ({ doneAt: new Date(), restoredTo: new Date() }),
      hasWorker: async () => true,
    };
    const auditVerification = { verifyAuditLog: async () => ({ findings: 0, rows: 0 }) };
    const unmended = invariants.map(({ mend: _, ...one }) => createInvariantCheck(one, { database, tools }));
    const noMend = new DoctorService({ checks: unmended });
    registerRestoreCheckCommand(command, {
      open: async () =>
        ({
          restores,
          tenants: { list: async () => [] },
          auditVerification,
          close: async () => undefined,
        }) as never,
      openDoctor: async () => ({ doctor: noMend, acts: {} as never, close: async () => undefined }),
      print: (line) => lines.push(line),
      tell: () => undefined,
      fail: (code) => lines.push(`ended with ${code}`),
    });
    await command.parseAsync([], { from: 'user' });
    const named = lines.flatMap((line) => /^ {2}(\w+): /.exec(line)?.[1] ?? []);
    expect(lines.includes('ended with 1')).toBe(named.length > 0);
    return named;
  },
};

const examination = () =>
  new DoctorService({ checks: invariants.map((one) => createInvariantCheck(one, { database, tools })) });

it('has a breach to plant for each invariant, and an invariant for each breach', () => {
  expect(Object.keys(PLANTS)).toEqual(invariants.map(({ name }) => name));
});

it('is whole in a database in which nothing is wrong', async () => {
  expect(await readBroken()).toEqual([]);
});

it.each(invariants)(
  '$name: is found where it is broken, in each place',
  async ({ name, mend, find, late }) => {
    const undo = await PLANTS[name]?.(place);
    if (late > 0) expect(await find(database, 1e9), 'not yet late').toMatchObject({ count: 0 });
    expect(await readBroken()).toEqual([name]);
    for (const [where, read] of Object.entries(PLACES)) expect(await read(), where).toEqual([name]);
    const report = await sweep.run();
    if (mend === undefined) expect(report).not.toHaveProperty(name);
    else expect(report?.[name]).toBeGreaterThan(0);
    // The workflow of the endpoint lets the crowd go, when it is called.
    const isGone = mend !== undefined && name !== 'crowd_overdue';
    expect(await readBroken()).toEqual(isGone ? [] : [name]);
    await undo?.();
    await clean(place);
    // Postgres lists a session for a moment after its client has gone.
    await vi.waitFor(async () => expect(await readBroken()).toEqual([]), PATIENCE);
  },
);

it('is mended by the doctor as well, and what only a person can mend is left', async () => {
  await PLANTS.delivery_overdue?.(place);
  await PLANTS.deliveries_lost?.(place);
  const outcomes: unknown[] = [];
  const onFinding = ({ code, detail }: { code: string; detail: string }, outcome: string) =>
    outcomes.push([code, outcome, detail.replace(/\d{4}-.*Z/, 'then')]);
  await examination().examine({ fix: true }, { onFinding });
  expect(outcomes).toEqual([
    [
      'delivery_overdue',
      'mended',
      'deliveries whose workflow has not begun the next attempt: 1, the oldest of then',
    ],
    ['deliveries_lost', 'left', 'accepted deliveries that are not there: 2, the oldest of then'],
  ]);
  await clean(place);
});

it('is unread while the database is away, and has no series then', async () => {
  const registry = new Registry();
  const away = invariants.map((one) => ({ ...one, find: () => Promise.reject(new Error('away')) }));
  measureInvariants({ ...createTestPlatform(database), registry }, createReadings(), away);
  const lines = (await registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('countersign_invariant'));
  expect(lines).toEqual([`countersign_invariants_unread ${invariants.length}`]);
});
