// The sweep of overdue challenges over a real database: what it marks, what it counts, and that nothing waits for it.

import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as challengeStore from '../../../src/authentication/challenges/challenge.store.ts';
import { ExpiryService } from '../../../src/authentication/challenges/challenge-expiry.service.ts';
import * as store from '../../../src/authentication/challenges/challenge-expiry.store.ts';
import * as challengeExpiryStore from '../../../src/authentication/challenges/challenge-expiry.store.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  readAudit,
} from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { answer, ask } from './answer.ts';
import { codeOf, insertEnded } from './ended-challenges.ts';

let context: RequestContext;

const { database } = await useTestDatabase();
const rooms = createRooms(database);
beforeEach(async () => {
  await database.query('DELETE FROM challenges');
  await database.query('DELETE FROM challenge_expiry_counts');
  await database.query(
    `UPDATE challenge_sweep SET swept_until = '-infinity', audited_until = '-infinity', auditing_until = '-infinity', auditing_after = NULL`,
  );
  context = await createTestTenant(rooms);
});
afterAll(() => rooms.verifier.close());

const pulse = { heartbeat: () => undefined, signal: new AbortController().signal };
const service = (
  settings: { chunk?: number; budget?: number; tenants?: number } = { chunk: 10, budget: 60_000 },
) => new ExpiryService({ database, records: rooms.records, settings });
const bucket = (minute: number) => ({
  name: `2026-11-21T18:${minute}Z`,
  endsAt: `2026-11-21T18:${minute + 1}:00.000Z`,
});
const ended = (count: number, seconds: number, tenant = context) =>
  insertEnded(database, tenant.tenant.id, { count, seconds });
const lines = async (tenant = context) =>
  (await readAudit(database, tenant.tenant.id))
    .filter(({ action }) => action === 'auth.challenges_expired')
    .map(({ target_id, data, actor_kind }) => ({ target_id, data, actor_kind }));
const standing = async () => {
  const { rows } = await database.query<{ open: number; expired: number; used: number }>(
    `SELECT count(*) FILTER (WHERE consumed_at IS NULL AND expired_at IS NULL)::int AS open,
       count(expired_at)::int AS expired, count(consumed_at)::int AS used FROM challenges`,
  );
  return rows[0];
};

describe('a sweep', () => {
  it('marks what nobody used and is overdue by five seconds, and leaves the rest', async () => {
    await ended(3, 10);
    await ended(1, 2);
    await ended(1, -60);
    await insertEnded(database, context.tenant.id, { count: 2, seconds: 10, used: true });
    expect(await service().sweep(pulse)).toEqual({ expired: 3, more: false });
    expect(await standing()).toEqual({ open: 2, expired: 3, used: 2 });
    expect(await service().sweep(pulse)).toEqual({ expired: 0, more: false });
  });

  it('does the work of buckets that nobody swept, of days ago too, in one go', async () => {
    for (const hours of [71, 48, 23, 1]) await ended(7, hours * 3_600);
    expect(await store.findUnswept(database, 300)).toMatchObject({ count: 28 });
    expect(await service().sweep(pulse)).toEqual({ expired: 28, more: false });
    expect(await store.findUnswept(database, 300)).toMatchObject({ count: 0 });
  });

  it('goes on where a call ended whose time was over, also with many that end at one second', async () => {
    await ended(35, 30);
    await ended(4, 20);
    const calls: number[] = [];
    for (let more = true; more; ) {
      const result = await service({ chunk: 10, budget: -1 }).sweep(pulse);
      calls.push(result.expired);
      more = result.more;
    }
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.reduce((sum, count) => sum + count, 0)).toBe(39);
    expect(await standing()).toEqual({ open: 0, expired: 39, used: 0 });
  });

  it('stops between chunks when it is told to, and keeps what is done', async () => {
    await ended(15, 30);
    await ended(15, 20);
    const ending = new AbortController();
    const stopping = { heartbeat: () => ending.abort(new Error('told to stop')), signal: ending.signal };
    await expect(service().sweep(stopping)).rejects.toThrow('told to stop');
    const left = (await service().sweep(pulse)).expired;
    await service().settle(bucket(15));
    expect(left).toBeLessThanOrEqual(30);
    expect((await lines())[0]?.data).toEqual({ count: 30 });
  });

  it('counts each challenge once when several run at the same time', async () => {
    for (let n = 0; n < 12; n += 1) await ended(9, 10 + n * 7);
    const results = await Promise.all(Array.from({ length: 6 }, () => service().sweep(pulse)));
    expect(results.reduce((sum, { expired }) => sum + expired, 0)).toBe(108);
    await service().settle(bucket(15));
    expect((await lines()).map(({ data }) => data)).toEqual([{ count: 108 }]);
  });
});

describe('the audit log', () => {
  it('gets one line for each tenant that has something to be told, from the service', async () => {
    const [other, quiet] = [await createTestTenant(rooms), await createTestTenant(rooms)];
    await ended(3, 30);
    await ended(5, 30, other);
    await service().sweep(pulse);
    expect(await service().settle(bucket(15))).toEqual({ tenants: 2, challenges: 8 });
    const line = (count: number) => [
      { target_id: '2026-11-21T18:15Z', data: { count }, actor_kind: 'service' },
    ];
    expect(await lines()).toEqual(line(3));
    expect(await lines(other)).toEqual(line(5));
    expect(await lines(quiet)).toEqual([]);
  });

  it('gets a line once, however often the bucket is settled; what comes later is in the next one', async () => {
    await ended(3, 30);
    await ended(2, 20);
    expect(await service({ chunk: 3, budget: -1 }).sweep(pulse)).toEqual({ expired: 3, more: true });
    await Promise.all([1, 2, 3].map(() => service().settle(bucket(15))));
    await service().sweep(pulse);
    expect(await service().settle(bucket(15))).toEqual({ tenants: 0, challenges: 0 });
    expect(await service().settle(bucket(14))).toEqual({ tenants: 0, challenges: 0 });
    expect(await service().settle(bucket(16))).toEqual({ tenants: 1, challenges: 2 });
    expect((await lines()).map(({ target_id, data }) => [target_id, data])).toEqual([
      ['2026-11-21T18:15Z', { count: 3 }],
      ['2026-11-21T18:16Z', { count: 2 }],
    ]);
  });

  it('learns of what a bucket marked that never came to its lines, and not twice when a line fails', async () => {
    await ended(4, 30);
    await service().sweep(pulse);
    const failing = new ExpiryService({
      database,
      records: { ...rooms.records, writeBatch: () => Promise.reject(new Error('not now')) },
    });
    await expect(failing.settle(bucket(15))).rejects.toThrow('not now');
    expect(await lines()).toEqual([]);
    expect(await service().settle(bucket(16))).toEqual({ tenants: 1, challenges: 4 });
    expect(await service().settle(bucket(17))).toEqual({ tenants: 0, challenges: 0 });
  });

  it('is recorded for many tenants in several transactions, and for each once, wherever a crash comes between', async () => {
    const tenants = await Promise.all(Array.from({ length: 7 }, () => createTestTenant(rooms)));
    for (const [n, tenant] of tenants.entries()) await ended(n + 1, 30, tenant);
    await service().sweep(pulse);
    let parts = 0;
    const crashing = (part: number) =>
      new ExpiryService({
        database,
        settings: { tenants: 2 },
        records: {
          ...rooms.records,
          writeBatch: (...call) =>
            ++parts === part ? Promise.reject(new Error('crashed')) : rooms.records.writeBatch(...call),
        },
      });
    await expect(crashing(3).settle(bucket(15))).rejects.toThrow('crashed');
    expect((await Promise.all(tenants.map(lines))).flat()).toHaveLength(4);
    // Told already, and to be told again in the next minute only.
    for (const { tenant } of tenants)
      await database.query(
        `INSERT INTO challenge_expiry_counts AS known (tenant_id, expired) VALUES ($1, 10)
         ON CONFLICT (tenant_id) DO UPDATE SET expired = known.expired + 10`,
        [tenant.id],
      );
    const { rows } = await database.query<{ audited: string }>(
      'SELECT audited_until::text AS audited FROM challenge_sweep',
    );
    expect(rows).toEqual([{ audited: '-infinity' }]);
    const results = await Promise.all([1, 2, 3].map(() => service({ tenants: 2 }).settle(bucket(15))));
    expect(results.reduce((sum, part) => sum + part.tenants, 0)).toBe(3);
    expect(await service({ tenants: 2 }).settle(bucket(14))).toEqual({ tenants: 0, challenges: 0 });
    await service({ tenants: 2 }).settle(bucket(16));
    const told = await Promise.all(tenants.map(lines));
    for (const [n, rowsOfTenant] of told.entries()) {
      expect(new Set(rowsOfTenant.map(({ target_id }) => target_id)).size).toBe(rowsOfTenant.length);
      expect(rowsOfTenant.reduce((sum, { data }) => sum + Number((data as { count: number }).count), 0)).toBe(
        n + 11,
      );
    }
    expect(told.flat().filter(({ target_id }) => target_id === '2026-11-21T18:15Z')).toHaveLength(7);
  });

  it('has what a bucket left behind in the lines of a later one, which the earlier one does not disturb', async () => {
    const tenants = await Promise.all(Array.from({ length: 5 }, () => createTestTenant(rooms)));
    for (const tenant of tenants) await ended(2, 30, tenant);
    await service().sweep(pulse);

    const take = (minute: number) =>
      database.transaction(
        {},
        async (unit) => (await store.takeCounts(unit, bucket(minute).endsAt, 2))?.length,
      );
    expect([await take(15), await take(16), await take(15), await take(16), await take(16)]).toEqual([
      2,
      2,
      undefined,
      1,
      undefined,
    ]);
  });

  it('names an operator who did not want to wait, with the reason', async () => {
    await ended(1, 30);
    await service().sweep(pulse);
    await service().settle(bucket(15), { reason: 'before the audit' });
    expect(await lines()).toEqual([
      {
        target_id: '2026-11-21T18:15Z',
        data: { count: 1, reason: 'before the audit' },
        actor_kind: 'operator',
      },
    ]);
  });
});

describe('an agent', () => {
  it('is refused on time whether or not anybody swept, and told the truth afterwards', async () => {
    const agent = await createTestAgent(rooms, context);
    const [late, used] = [
      await ask(rooms, context, agent.fingerprint),
      await ask(rooms, context, agent.fingerprint),
    ];
    await rooms.challenges.verify(context, answer(used, agent));
    const end = (id: string, seconds: number) =>
      database.query(
        `UPDATE challenges SET expires_at = date_trunc('second', now()) - make_interval(secs => $2) WHERE id = $1`,
        [id, seconds],
      );
    const codes = async () => [
      await codeOf(rooms.challenges.verify(context, answer(late, agent))),
      await codeOf(rooms.challenges.verify(context, answer(used, agent))),
    ];
    await end(late.id, 0);
    expect(await codes()).toEqual(['challenge_expired', 'challenge_used']);
    for (const id of [late.id, used.id]) await end(id, 23 * 3_600);
    expect(await service().sweep(pulse)).toEqual({ expired: 1, more: false });
    expect(await codes()).toEqual(['challenge_expired', 'challenge_used']);
    expect(await challengeStore.purge(database, 100)).toBe(0);
  });

  it('cannot use a challenge that is counted as expired, also with a clock that went back', async () => {
    let isLate = false;
    const expire = () => database.query('UPDATE challenges SET expired_at = now() WHERE expires_at > now()');
    const late = createRooms({
      ...database,
      query: async <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
        if (isLate && text.includes('UPDATE challenges SET consumed_at')) await expire();
        return database.query<Row>(text, values, members);
      },
    });
    const tenant = await createTestTenant(late);
    const agent = await createTestAgent(late, tenant);
    const verify = async () => {
      const challenge = await ask(late, tenant, agent.fingerprint);
      if (!isLate) await expire();
      return codeOf(late.challenges.verify(tenant, answer(challenge, agent)));
    };
    expect(await verify()).toBe('challenge_expired');
    isLate = true;
    expect(await verify()).toBe('challenge_expired');
    expect(await standing()).toEqual({ open: 0, expired: 2, used: 0 });
    await late.verifier.close();
  });

  it('whose answer arrives at the very end is either served or counted as expired, never both', async () => {
    const agents = await Promise.all(Array.from({ length: 8 }, () => createTestAgent(rooms, context)));
    const answers = await Promise.all(
      agents.map(async (agent) => answer(await ask(rooms, context, agent.fingerprint), agent)),
    );
    await database.query(`UPDATE challenges SET expires_at = now() + interval '50 milliseconds'`);
    const outcomes = Promise.all(answers.map((input) => codeOf(rooms.challenges.verify(context, input))));

    const until = Date.now() + PATIENCE.timeout;
    while ((await standing())?.open !== 0 && Date.now() < until) await service().sweep(pulse);
    const served = (await outcomes).filter((code) => code === 'accepted').length;
    expect(await store.findUnswept(database, 0)).toMatchObject({ count: 0 });
    expect(await standing()).toEqual({ open: 0, expired: 8 - served, used: served });
  });
});

describe('the purge', () => {
  it('keeps what nobody has counted, and removes it once that is done', async () => {
    await ended(2, 25 * 3_600);
    const purge = () => challengeStore.purge(database, 100);
    expect(await purge()).toBe(0);
    await service().sweep(pulse);
    expect(await purge()).toBe(2);
  });
});

describe('the hot path', () => {
  it('writes two indexes for a challenge, and none when it is used or marked', async () => {
    const { rows } = await database.query<{ indexdef: string }>(
      `SELECT indexdef FROM pg_indexes WHERE tablename = 'challenges'`,
    );
    expect(rows).toHaveLength(2);
    for (const { indexdef } of rows) expect(indexdef).not.toMatch(/consumed_at|expired_at/);
  });
});

describe('the sweep', () => {
  it('finds its next place once a chunk', async () => {
    await ended(20, 30);
    let text = '';
    const query = async (asked: string) => {
      text = asked;
      return { rows: [], rowCount: 0 };
    };
    await challengeExpiryStore.markNext({ query }, 10);
    const { rows } = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text.replace('$1', '10')}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan.match(/ on challenges\b/g)).toHaveLength(1);
  });
});
