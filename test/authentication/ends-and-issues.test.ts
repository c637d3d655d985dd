// A token is issued in one process while another ends it, at the same moment, in both orders: no token of the state
// before the change is accepted after it. ENDS_TRIES is how often each cell is tried, ENDS_CELLS which cells.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import type { RequestContext } from '../../src/platform/context.ts';
import { createTestTenant } from '../identity/agents/agent-rooms.ts';
import { createPatientDatabase, createTestDatabase } from '../setup/database.ts';
import { acceptorsOf, startGuard } from './acceptors.ts';
import { CELLS, type Cell, createEndingRooms, prepareCell } from './endings.ts';
import { codeOf } from './tokens/refresh-fixture.ts';

const TRIES = Number(process.env.ENDS_TRIES ?? 6);
const IS_LONG = process.env.ENDS_TRIES !== undefined;
const CHOSEN = new RegExp(process.env.ENDS_CELLS ?? '');
/** Milliseconds by which the change comes after the request. */
const OFFSETS = [0, -1, 1, -2, 2, -3, 3];

const test = await createTestDatabase();
const other = createPatientDatabase({ url: test.url, pool: 10, applicationName: 'other' });
const masterKeys = [{ id: 'test', key: randomBytes(32) }];
const [here, away] = [createEndingRooms(test.database, masterKeys), createEndingRooms(other, masterKeys)];
afterAll(async () => {
  await Promise.all([here.closeRooms(), away.closeRooms()]);
  await other.close();
  await test.drop();
});

/** Issues and ends at the same moment. @returns the token, unless it was refused */
async function race(cell: Cell, context: RequestContext, offset: number) {
  const { issue, end, isOld, codes } = await prepareCell(cell, { here, away }, context);
  const after = async <T>(ms: number, act: () => Promise<T>) => {
    if (ms > 0) await sleep(ms);
    return act();
  };
  const [issued, ended] = await Promise.allSettled([after(-offset, issue), after(offset, () => end(away))]);
  if (ended.status === 'rejected') throw ended.reason;
  if (issued.status === 'fulfilled') return { token: issued.value, isOld: isOld(issued.value) };
  expect(codes, String(issued.reason)).toContain(await codeOf(Promise.reject(issued.reason)));
  return undefined;
}

it.each(CELLS.filter(({ road, change }) => CHOSEN.test(`${road} ${change}`)))(
  '$road beside its end ($change) leaves no token of before',
  async (cell) => {
    const context = await createTestTenant(here);
    const { tenant } = context;
    const counts = { old: 0, 'old at the database': 0, 'old at a guard': 0, new: 0, 'new and refused': 0 };
    for (let n = 0; n < TRIES; n += 1) {
      const answered = await race(cell, context, OFFSETS[n % OFFSETS.length] ?? 0);
      if (answered === undefined) continue;
      const guard = await startGuard(test.database, tenant.id);
      const acceptors = await acceptorsOf(answered.token, { asked: here, tenant, guard });
      counts[answered.isOld ? 'old' : 'new'] += 1;
      if (!answered.isOld) counts['new and refused'] += acceptors.length === 2 ? 0 : 1;
      else for (const acceptor of acceptors) counts[`old at ${acceptor}`] += 1;
    }
    const { road, change } = cell;
    if (IS_LONG) process.stdout.write(`| ${road} | ${change} | ${Object.values(counts).join(' | ')} |\n`);
    expect(counts).toMatchObject({ 'old at the database': 0, 'old at a guard': 0, 'new and refused': 0 });
  },
  3_600_000,
);
