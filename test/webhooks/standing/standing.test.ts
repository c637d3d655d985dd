// Every number of the standing against the rows of 5,000 subscriptions in all states, and what its statement reads.
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerStatusCommand } from '../../../src/operations/status/status.commands.ts';
import { StatusService } from '../../../src/operations/status/status.service.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { countEndpoints } from '../../../src/webhooks/backlog/backlog.store.ts';
import { ENDPOINT_STATES } from '../../../src/webhooks/endpoints/endpoint-state.ts';
import { StandingService } from '../../../src/webhooks/standing/standing.service.ts';
import { read } from '../../../src/webhooks/standing/standing.store.ts';
import { judgeStanding, SEVERITIES } from '../../../src/webhooks/standing/standing.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';
import { countTenant, fillTenant, KINDS } from './many-subscriptions.ts';

const SIZE = 5_000;
const NEIGHBOUR = 500;
const rooms = await createWebhookRooms();
afterAll(() => rooms.close());
beforeAll(async () => {
  await fillTenant(rooms.database, rooms.demo.tenant.id, SIZE);
  await fillTenant(rooms.database, rooms.acme.tenant.id, NEIGHBOUR);
});

const status = new StatusService({
  database: rooms.database,
  standing: new StandingService({ database: rooms.database }),
  // What the status says beside the endpoints.
  backlog: async () => null,
  invariants: [],
  hosts: { listFailing: async () => [] },
  acts: { list: async () => [] },
  objectives: async () => new Map(),
  probeTemporal: async () => true,
  version: '1',
});

const byState = (one: { state: string; severity: string }, other: { state: string; severity: string }) =>
  `${one.state} ${one.severity}`.localeCompare(`${other.state} ${other.severity}`);

describe('the standing of a tenant with 5,000 subscriptions', () => {
  it('has the numbers of the rows, each', async () => {
    const rows = await countTenant(rooms.database, rooms.demo.tenant.id);
    expect(rows.subscriptions).toBe(SIZE);
    expect(new Set(KINDS.map(({ state }) => state))).toEqual(new Set(ENDPOINT_STATES));
    const { body, status } = await rooms.send('GET', '/api/v1/standing');
    expect(status).toBe(200);
    const states = body.states.map(({ oldest_canceled_at: canceled, ...rest }: Record<string, string>) => {
      const oldest = rest.oldest_waiting_at ?? null;
      expect(canceled).toBe(oldest && new Date(Date.parse(oldest) + 30 * 86_400_000).toISOString());
      return rest;
    });
    expect(states.sort(byState)).toEqual(rows.states.sort(byState));
    expect(body).toMatchObject({
      severity: 'critical',
      subscriptions: SIZE,
      in_trouble: rows.inTrouble,
      waiting: rows.waiting,
    });
    // The most urgent first, and of one severity in the order in which trouble is named.
    const order = body.states.map(({ state, severity }: Record<string, string>) => `${severity} ${state}`);
    expect(order.slice(0, 9)).toEqual([
      ...['critical down', 'critical probing', 'warning held', 'warning suspended', 'warning failing'],
      ...['warning open', 'warning inactive', 'notice failing', 'notice inactive'],
    ]);
    expect(body.summary).toMatch(/\d+ suspended, \d+ failing, 200 open with many failures: /);
    expect(body.failed_in_24_hours).toMatchObject({ deliveries: rows.failed, groups: rows.groups });
    expect(body.failed_in_24_hours.largest).toHaveLength(50);
    const numbers = body.failed_in_24_hours.largest.map(
      ({ deliveries }: { deliveries: number }) => deliveries,
    );
    expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
    // 4 of 79 are more than 1 in 20, and 4 of 80 are not.
    const judged = body.failed_in_24_hours.largest.map(
      (group: Record<string, string>) =>
        `${rows.kindOf(group.subscription_id ?? '')} ${group.deliveries} ${group.severity}`,
    );
    expect([...new Set(judged)].sort()).toEqual(['few-failures 4 notice', 'many-failures 4 warning']);
  });

  it('has the states that the list of subscriptions has, whole by its filters', async () => {
    for (const state of ENDPOINT_STATES) {
      const ofKind = KINDS.filter((kind) => kind.state === state && kind.stream === undefined);
      const found: string[] = [];
      for (let cursor = ''; ; ) {
        const { body } = await rooms.send('GET', `/api/v1/webhooks?state=${state}&limit=200${cursor}`);
        for (const { endpoint, description } of body.data) {
          expect([description, endpoint.state]).toEqual([description, state]);
          found.push(description);
        }
        if (body.next_cursor === null) break;
        cursor = `&cursor=${body.next_cursor}`;
      }
      const { rows } = await rooms.database.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM subscriptions WHERE tenant_id = $1 AND description = ANY ($2)',
        [rooms.demo.tenant.id, ofKind.map(({ name }) => name)],
      );
      expect([state, found.length]).toEqual([state, rows[0]?.count]);
    }
    for (const severity of SEVERITIES) {
      const { body } = await rooms.send('GET', `/api/v1/webhooks?severity=${severity}&limit=100`);
      const kinds = KINDS.filter((kind) => kind.severity === severity).map(({ name }) => name);
      for (const { description } of body.data) expect(kinds).toContain(description);
      expect(body.data.length).toBeGreaterThan(0);
    }
  });

  it('is of all tenants in the metrics, by the same states', async () => {
    const both = [
      await countTenant(rooms.database, rooms.demo.tenant.id),
      await countTenant(rooms.database, rooms.acme.tenant.id),
    ];
    const counted = await countEndpoints(rooms.database);
    for (const state of ENDPOINT_STATES) {
      const sum = both.reduce((all, { ofState }) => all + ofState(state), 0);
      expect([state, counted.find((row) => row.state === state)?.count]).toEqual([state, sum]);
    }
    const every = judgeStanding(await read(rooms.database));
    expect(every).toMatchObject({
      subscriptions: SIZE + NEIGHBOUR,
      waiting: both.reduce((all, { waiting }) => all + waiting, 0),
      inTrouble: both.reduce((all, { inTrouble }) => all + inTrouble, 0),
      failedIn24Hours: { deliveries: both.reduce((all, { failed }) => all + failed, 0) },
    });
  });

  it('is of all tenants in the status, as text and as an object', async () => {
    const tenants = [rooms.demo.tenant.id, rooms.acme.tenant.id];
    const both = await Promise.all(tenants.map((id) => countTenant(rooms.database, id)));
    const sum = (of: (counted: (typeof both)[number]) => number) =>
      both.reduce((all, counted) => all + of(counted), 0);
    const run = async (...args: string[]) => {
      const lines: string[] = [];
      const command = new Command('status');
      registerStatusCommand(command, {
        open: async () => ({ status, close: async () => undefined }),
        print: (line) => lines.push(line),
        fail: () => undefined,
      });
      await command.parseAsync(args, { from: 'user' });
      return lines;
    };
    const lines = await run();
    const states = ENDPOINT_STATES.map(
      (state) => `${sum(({ ofState }) => ofState(state)).toLocaleString('en')} ${state}`,
    );
    const at = lines.findIndex((line) => line.startsWith('Endpoints'));
    expect(lines[at]).toBe(`Endpoints   ${states.join(', ')}`);
    expect(lines[at + 1]?.trim()).toBe(judgeStanding(await read(rooms.database)).summary);
    expect(lines).toContain(`Failed      ${sum(({ failed }) => failed)} deliveries for good in 24 h`);
    expect(JSON.parse((await run('--json'))[0] ?? '')).toMatchObject({
      endpoints: {
        ...Object.fromEntries(ENDPOINT_STATES.map((state) => [state, sum(({ ofState }) => ofState(state))])),
        ...{ severity: 'critical', waiting_deliveries: sum(({ waiting }) => waiting) },
      },
      failed_in_24_hours: { deliveries: sum(({ failed }) => failed) },
    });
  });

  it('is answered with 304 while nothing has changed', async () => {
    const first = await rooms.send('GET', '/api/v1/standing', undefined, { 'if-none-match': '"none"' });
    const etag = first.headers.get('etag') ?? '';
    expect(first.status).toBe(200);
    const again = await rooms.send('GET', '/api/v1/standing', undefined, { 'if-none-match': etag });
    expect(again.status).toBe(304);
  });

  it('reads the unfinished deliveries by their index, and no other delivery but those that failed in the day', async () => {
    // A bad month: 20 deliveries of each of 1,000 endpoints have failed, all of them more than a day ago.
    await rooms.database.query(
      `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status, completed_at, last_error)
       SELECT (left(uuid_of_time(at)::text, 13) || right(gen_random_uuid()::text, 23))::uuid, $1, s.id, s.id, gen_random_uuid()::text, 'orders.placed', 'failed', at, 'timeout'
       FROM (SELECT id FROM subscriptions WHERE tenant_id = $1 AND description = 'open' LIMIT 1000) AS s, generate_series(2, 21) AS n,
         LATERAL (SELECT now() - n * interval '1 day' AS at) AS t`,
      [rooms.demo.tenant.id],
    );
    await rooms.database.query('ANALYZE deliveries');
    const plans: string[] = [];
    const explaining: Queryable = {
      query: async <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
        const { rows } = await rooms.database.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (ANALYZE, BUFFERS) ${text}`,
          values,
        );
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return rooms.database.query<Row>(text, values, members);
      },
    };
    await read(explaining, rooms.demo.tenant.id);
    const [plan = ''] = plans;
    expect(plan).not.toMatch(/Seq Scan on deliveries_\d/);
    expect(plan).toMatch(/tenant_id_completed_at|deliveries_failed/);
    expect(plan).not.toMatch(/Rows Removed by (Filter|Index Recheck): \d{5}/);
    // No join whose cost is the product of both sides.
    expect(plan).not.toMatch(/Rows Removed by Join Filter/);
  });
});
