// The table of docs/rows.md: in which ways a delivery waits, who owns the wait, and what each act does to each way, by
// the interface, the command line and Temporal.
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { ErasureCertificateService } from '../../src/audit/erasure.service.ts';
import { TenantErasureService } from '../../src/operations/erasure/tenant-erasure.service.ts';
import { createTenantHistories } from '../../src/operations/erasure/tenant-history.client.ts';
import { newId } from '../../src/platform/database/ids.ts';
import { createDeliveryRoutes } from '../../src/webhooks/deliveries/delivery.routes.ts';
import { restart } from '../../src/webhooks/rows/delivery-row.store.ts';
import { createSubscriptionRoutes } from '../../src/webhooks/subscriptions/subscription.routes.ts';
import { createSealing } from '../audit/sealing.ts';
import { createOperatorRooms } from '../operations/operators/operator-rooms.ts';
import { startTestServer, tokenFor } from '../platform/http/test-server.ts';
import { AUDIT_KEYS } from '../setup/database.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { createEndpointEngine } from '../workflows/endpoint-engine.ts';

const HOUR = 3_600_000;
/** An early retry, which a crowd takes, and one that needs a workflow. Neither comes by itself. */
const EARLY = HOUR / 12;
const WHY = ['--reason', 'a test', '--as', 'jo'];

/** The rows of the table under the heading of docs/rows.md whose first column this is. */
function readTable(first: string): Record<string, string>[] {
  const lines = readFileSync('docs/rows.md', 'utf8').split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${first} |`));
  const cells = (line = '') =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', ''));
  const [heads, , ...rows] = lines.slice(
    start,
    lines.findIndex((line, n) => n > start && line === ''),
  );
  return rows.map((row) => Object.fromEntries(cells(row).map((cell, n) => [cells(heads)[n] ?? '', cell])));
}

const engine = await createEndpointEngine();
const { context, database, receiver } = engine;
const { id: tenantId, slug } = context.tenant;
const rooms = createOperatorRooms(database, engine.notifier);
const workflows = { uiUrl: 'http://localhost:8233', namespace: 'countersign' };
const server = await startTestServer(
  [
    ...createDeliveryRoutes({ deliveries: engine.deliveries, workflows }),
    ...createSubscriptionRoutes({ subscriptions: engine.subscriptions }),
  ],
  { database, tenants: { bySlug: async () => context.tenant } },
);
await engine.startProcess({ few: 0 });
engine.startRunner();
afterAll(async () => {
  await server.drain();
  await engine.close();
});

const authorization = `Bearer ${tokenFor('app', 'webhooks:read', 'webhooks:write')}`;
const send = async (method: string, path: string, body: unknown = {}) => {
  const answer = await server.send(method, path, method === 'GET' ? undefined : body, { authorization });
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.body;
};

type Waiting = { readonly id: string; readonly delivery: string; readonly path: string };
/** The endpoint closes by itself for an hour, as after a `Retry-After`, and its workflow knows. */
const close = async (id: string) => {
  await engine.recoveries.operate({ tenantId, subscriptionId: id }, { kind: 'hold', seconds: 3_600 });
  await engine.waitsFor(id, 'hold');
};
const subscribe = async (delayMs: number) => {
  const { id, path } = await engine.subscribe({ delaysMs: [delayMs, HOUR] });
  receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 204 }));
  return { id, path };
};
const own = async (): Promise<Waiting> => {
  const { id, path } = await subscribe(HOUR);
  const [delivery = ''] = await engine.publish(id);
  await engine.failedOnce(delivery);
  return { id, path, delivery };
};
const makeDue = (delivery: string) =>
  database.query('UPDATE deliveries SET next_attempt_at = now() WHERE id = $1', [delivery]);

/** Makes a delivery wait in each of the ways. */
const WAYS: Readonly<Record<string, () => Promise<Waiting>>> = {
  unclaimed: async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [HOUR] });
    await close(id);
    const [delivery = ''] = await engine.publish(id);
    return { id, path, delivery };
  },
  crowd: async () => {
    const { id, path } = await subscribe(EARLY);
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.stateOf(id))?.crowd === 1, 'the workflow to have the crowd');
    return { id, path, delivery };
  },
  own,
  parked: async () => {
    const waiting = await own();
    await close(waiting.id);
    await makeDue(waiting.delivery);
    await engine.workflow(waiting.delivery).signal('retryNow');
    const isParked = async () => (await engine.delivery(waiting.delivery)).waiting_epoch !== null;
    await eventually(isParked, 'the delivery to be parked');
    return waiting;
  },
  // As the sweep does where a workflow is lost.
  'to start': async () => {
    const waiting = await own();
    await close(waiting.id);
    await engine.workflow(waiting.delivery).terminate();
    await makeDue(waiting.delivery);
    const name = { deliveryId: waiting.delivery, generation: 0, outboxId: newId() };
    expect(await restart(database, name)).toBe(true);
    return waiting;
  },
};
const NAMES = Object.keys(WAYS);

/** The rows that a delivery waits by, as the page names them. */
async function rowsOf(delivery: string): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT 'outbox: ' || kind AS name FROM outbox WHERE delivery_id = $1
     UNION ALL SELECT 'crowded_deliveries' FROM crowded_deliveries WHERE delivery_id = $1`,
    [delivery],
  );
  return rows.map(({ name }) => name);
}
const isRunning = async ({ delivery }: Waiting): Promise<boolean> => {
  const states = await Promise.all(
    [0, 1].map((generation) =>
      engine
        .workflow(delivery, generation)
        .describe()
        .then(
          ({ status }) => status.name,
          () => 'ABSENT',
        ),
    ),
  );
  return states.includes('RUNNING');
};
const detailsOf = async ({ id }: Waiting): Promise<string> =>
  (await engine.actor(id).query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
const isLeft = async (waiting: Waiting): Promise<boolean> =>
  (await rowsOf(waiting.delivery)).length > 0 || (await isRunning(waiting));
const posts = ({ path }: Waiting): number => receiver.of(path).length;

/** Does an act to one delivery, or once for all of them: those of their host, or of their tenant. */
type Act =
  | { readonly each: (waiting: Waiting) => Promise<unknown> }
  | { readonly all: () => Promise<unknown> };
const operate = (...args: string[]) => rooms.run('operator', ...args, ...WHY);
const ACTS: Readonly<Record<string, Act>> = {
  'POST /api/v1/deliveries/{delivery_id}/retry': {
    each: ({ delivery }) => send('POST', `/api/v1/deliveries/${delivery}/retry`),
  },
  'countersign operator delivery retry': { each: ({ delivery }) => operate('delivery', 'retry', delivery) },
  'countersign operator host retry': { all: () => operate('host', 'retry', receiver.host) },
  'update retry of delivery/<delivery_id>': {
    each: ({ delivery }) => engine.workflow(delivery).executeUpdate('retry'),
  },
  'update release of endpoint/<subscription_id>': {
    each: ({ id }) => engine.actor(id).executeUpdate('release'),
  },
  'POST /api/v1/deliveries/{delivery_id}/cancel': {
    each: ({ delivery }) => send('POST', `/api/v1/deliveries/${delivery}/cancel`),
  },
  'POST /api/v1/webhooks/{id}/deliveries/cancel': {
    each: async ({ id }) =>
      expect(await send('POST', `/api/v1/webhooks/${id}/deliveries/cancel`)).toEqual({ canceled: 1 }),
  },
  'countersign operator delivery cancel': { each: ({ delivery }) => operate('delivery', 'cancel', delivery) },
  'countersign operator host cancel': {
    all: async () =>
      expect(await operate('host', 'cancel', receiver.host)).toEqual([
        `${NAMES.length} deliveries to ${receiver.host} canceled: ${NAMES.length} endpoints of 1 tenant.`,
      ]),
  },
  'update cancel of delivery/<delivery_id>': {
    each: ({ delivery }) => engine.workflow(delivery).executeUpdate('cancel'),
  },
  'countersign operator host hold': { all: () => operate('host', 'hold', receiver.host) },
  'update hold of endpoint/<subscription_id>': {
    each: ({ id }) => engine.actor(id).executeUpdate('hold', { args: [3_600] }),
  },
  'PATCH /api/v1/webhooks/{id}': {
    each: ({ id }) => send('PATCH', `/api/v1/webhooks/${id}`, { active: false }),
  },
  'countersign operator tenant end': { all: () => operate('tenant', 'end', slug, '--confirm', slug) },
};
/** Ends what keeps a delivery, for each act that does. */
const OPEN: Readonly<Record<string, (waiting: Waiting) => Promise<unknown>>> = {
  'countersign operator host hold': () => operate('host', 'release', receiver.host),
  'PATCH /api/v1/webhooks/{id}': ({ id }) => send('PATCH', `/api/v1/webhooks/${id}`, { active: true }),
};

/** What the words of the page mean. `before`: the requests that the receiver had got. */
const OUTCOMES: Readonly<Record<string, (waiting: Waiting, before: number) => Promise<void>>> = {
  sent: async (waiting, before) => {
    expect(await engine.ended(waiting.delivery)).toMatchObject({ status: 'delivered' });
    expect(posts(waiting)).toBe(before + 1);
    await eventually(async () => !(await isLeft(waiting)), 'nothing to be left');
  },
  canceled: async (waiting, before) => {
    expect(await engine.delivery(waiting.delivery)).toMatchObject({ status: 'canceled' });
    await eventually(async () => !(await isLeft(waiting)), 'nothing to be left');
    const { crowd = 0 } = await engine.recoveries.read({ tenantId, subscriptionId: waiting.id });
    expect([posts(waiting), crowd]).toEqual([before, 0]);
  },
  kept: async (waiting, before) => {
    const { id, delivery } = waiting;
    // Its time comes.
    await makeDue(delivery);
    await database.query('UPDATE crowded_deliveries SET due_at = now() WHERE delivery_id = $1', [delivery]);
    await engine
      .workflow(delivery)
      .signal('retryNow')
      .catch(() => undefined);
    await engine
      .actor(id)
      .signal('changed')
      .catch(() => undefined);
    await engine.quiet(id);
    expect((await engine.delivery(delivery)).completed_at).toBeNull();
    expect(posts(waiting)).toBe(before);
  },
  erased: async (waiting) => {
    const { rowCount } = await database.query('SELECT FROM deliveries WHERE id = $1', [waiting.delivery]);
    expect([rowCount, await isLeft(waiting)]).toEqual([0, false]);
  },
};

/** What follows the command: the 30 days pass, and the erasure begins. */
async function eraseNow(): Promise<void> {
  await createSealing(database).sealAll();
  await database.query("UPDATE tenant_ends SET erase_at = now() - interval '1 second'");
  const certificates = new ErasureCertificateService({ database, auditKeys: AUDIT_KEYS });
  const histories = createTenantHistories({ client: engine.client });
  const erasures = new TenantErasureService({ ...rooms, database, certificates, histories });
  await erasures.erase({ tenantId }, { heartbeat: () => undefined, signal: new AbortController().signal });
}

describe('a delivery that waits', () => {
  it.each(readTable('way'))(
    '$way has its rows, and leads to the workflow that owns its wait',
    async (told) => {
      const waiting = (await WAYS[told.way ?? '']?.()) ?? { id: '', delivery: '', path: '' };
      expect(await rowsOf(waiting.delivery)).toEqual(told['its rows'] === 'none' ? [] : [told['its rows']]);
      const link = told.workflow_id
        ?.replace('<subscription_id>', waiting.id)
        .replace('<delivery_id>', waiting.delivery);
      const shown = await send('GET', `/api/v1/deliveries/${waiting.delivery}`);
      expect(shown.workflow_id).toBe(link);
      const operated = await rooms.run('operator', 'delivery', 'show', waiting.delivery, '--json');
      expect(JSON.parse(operated[0] ?? '')).toMatchObject({
        workflow_id: link,
        workflow_url: shown.workflow_url,
      });
      expect((await engine.client.workflow.getHandle(link ?? '').describe()).status.name).toBe('RUNNING');
      if (told.way === 'crowd')
        expect(await detailsOf(waiting)).toMatch(
          new RegExp(
            `1 wait here .*, the next at [-\\d: ]+, the last at [-\\d: ]+; the oldest is .${waiting.delivery}`,
          ),
        );
      await engine.subscriptions.remove(context, waiting.id);
    },
  );

  it('tells each way that it knows', () => {
    expect(readTable('way').map(({ way }) => way)).toEqual(NAMES);
    expect(readTable('act').map(({ by }) => by)).toEqual(Object.keys(ACTS));
  });

  it.each(readTable('act'))(
    'comes to the same however it waits: $act by $by',
    async ({ act, by = '', ...told }) => {
      const made = await Promise.all(
        NAMES.map(async (way) => ({ way, ...(await WAYS[way]?.()) }) as Waiting & { way: string }),
      );
      const before = made.map(posts);
      const how = ACTS[by];
      if (how === undefined) throw new Error(`the page names ${act} by ${by}, which nobody does here`);
      if ('all' in how) await how.all();
      else
        for (const waiting of made) {
          const done = await how.each(waiting).then(
            () => true,
            () => false,
          );
          expect([waiting.way, done]).toEqual([waiting.way, told[waiting.way] !== '–']);
        }
      if (act === 'erasure') await eraseNow();
      for (const [index, waiting] of made.entries())
        await OUTCOMES[told[waiting.way] ?? '']?.(waiting, before[index] ?? 0);
      for (const waiting of made.filter(({ way }) => told[way] === 'kept')) {
        await OPEN[by]?.(waiting);
        // The endpoint of some ways has held itself before.
        const name = { tenantId, subscriptionId: waiting.id };
        await engine.recoveries.operate(name, { kind: 'release' }).catch(() => undefined);
        expect(await engine.ended(waiting.delivery)).toMatchObject({ status: 'delivered' });
      }
      if (act !== 'erasure') for (const { id } of made) await engine.subscriptions.remove(context, id);
    },
  );
});
