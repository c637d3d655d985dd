// Ten thousand deliveries that wait for one endpoint: they cost nothing until it takes them, and then go out slowly at
// first, the oldest first.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '../../workflows/delivery-engine.ts';
import { createEndpointEngine } from '../../workflows/endpoint-engine.ts';

const WAITING = 10_000;
/** How many are waited for: the others are only more of the same. */
const ENOUGH = 1_500;
const WATCHED_MS = 4_000;

const engine = await createEndpointEngine();
await engine.startProcess();
engine.startRunner();
afterAll(() => engine.close());

const change = (id: string, text: string) =>
  engine.database.query(`UPDATE endpoints SET ${text} WHERE subscription_id = $1`, [id]);
const operate = (id: string) =>
  engine.recoveries.operate({ tenantId: engine.context.tenant.id, subscriptionId: id }, { kind: 'release' });

const CLOSED = [
  {
    how: 'held',
    close: (id: string) => change(id, "state = 'held', hold_until = now() + interval '1 hour', permits = 1"),
    open: operate,
  },
  {
    how: 'down',
    close: (id: string) =>
      change(id, "state = 'down', probe_at = now() + interval '1 hour', failing_since = now(), permits = 1"),
    open: operate,
  },
  {
    how: 'deactivated',
    close: (id: string) => engine.subscriptions.update(engine.context, id, { active: false }),
    open: (id: string) => engine.subscriptions.update(engine.context, id, { active: true }),
  },
];

describe.each(CLOSED)('ten thousand deliveries of an endpoint that is $how', ({ close, open }) => {
  it('wait without workflows, timers and polling, and go out paced, the oldest first', async () => {
    const { id, path } = await engine.subscribe();
    await close(id);
    for (let done = 0; done < WAITING; done += 500) await engine.publish(id, 500);
    // As the server does by itself, within a minute.
    await engine.database.query('ANALYZE outbox, deliveries');
    // What went before, and the statistics of it, may take a moment to end; a glance at each delivery now and then
    // would never.
    const cost = await eventually(async () => {
      const before = await load();
      await sleep(WATCHED_MS);
      const seen = difference(await load(), before);
      return seen.rows < WAITING / 2 && seen;
    }, 'a time in which nobody looks at waiting deliveries');
    expect(engine.receiver.of(path)).toHaveLength(0);
    expect((await engine.client.workflow.count(`SubscriptionId="${id}"`)).count).toBe(0);
    // Looks of the relay, the runner and the statistics themselves, whatever waits.
    expect(cost.transactions).toBeLessThan(400);
    expect(cost.timers).toBeLessThan(50);
    expect(cost.heap).toBeLessThan(64 * 2 ** 20);

    let now = 0;
    const starts: number[] = [];
    engine.receiver.answer(path, async () => {
      now += 1;
      starts.push(now);
      await sleep(starts.length < 40 ? 40 : 0);
      now -= 1;
      return { status: 204 };
    });
    await open(id);
    await eventually(
      () => engine.receiver.received.length >= ENOUGH && engine.receiver.of(path).length >= ENOUGH,
      'what waited to go out',
      300_000,
    );
    await eventually(async () => ((await engine.counts(id)).delivered ?? 0) >= ENOUGH, 'its records');
    expect(Math.max(...starts.slice(0, 3))).toBeLessThanOrEqual(3);
    expect(Math.max(...starts)).toBeLessThanOrEqual(33);
    const { rows } = await engine.database.query<{ id: string }>(
      'SELECT id FROM deliveries WHERE subscription_id = $1 ORDER BY id',
      [id],
    );
    const places = new Map(rows.map((row, place) => [row.id, place]));
    const received = engine.receiver.of(path);
    expect(received.length).toBeGreaterThanOrEqual(ENOUGH);
    const late = received.map(({ deliveryId }, n) => Math.abs((places.get(deliveryId) ?? 0) - n));
    // Neighbours overtake each other, as many as are under way together.
    expect(Math.max(...late)).toBeLessThan(200);
    expect(await engine.endpoint(id)).toMatchObject({ state: 'open', permits: null });
    await engine.subscriptions.remove(engine.context, id);
  });
});

type Load = { transactions: number; rows: number; timers: number; heap: number };

/** What the database and this process have done so far. */
async function load(): Promise<Load> {
  const { rows } = await engine.database.query<{ transactions: number; rows: number }>(
    `SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS transactions,
       (SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables
        WHERE relname LIKE 'outbox%' OR relname LIKE 'deliveries%')::float8 AS rows`,
  );
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  return {
    transactions: rows[0]?.transactions ?? 0,
    rows: rows[0]?.rows ?? 0,
    timers,
    heap: process.memoryUsage().heapUsed,
  };
}

function difference(after: Load, before: Load): Load {
  return {
    transactions: after.transactions - before.transactions,
    rows: after.rows - before.rows,
    timers: after.timers - before.timers,
    heap: after.heap - before.heap,
  };
}
