// The scenario of one event that is published several times: under one idempotency key, or with one event id.
import type { RequestContext } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { startTestServer, type TestServer, tokenFor } from '../platform/http/test-server.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { wireWebhookRooms } from '../webhooks/webhook-rooms.ts';
import type { Schedule, Unit } from './scheduler.ts';
import { compareCounts, type Scenario, type Stage, valueIn } from './stage.ts';

const AUTHORIZATION = `Bearer ${tokenFor('app', 'webhooks:write', 'events:write')}`;
const EVENT = { type: 'wallet.tx.signed', data: { n: 1 } };
const OTHER = { type: 'wallet.tx.signed', data: { n: 2 } };

const ACTS = [
  'publish again',
  'publish another under the key',
  'publish with an event id',
  'publish with the event id again',
  'publish another with the event id',
  'publish many under the key',
  'subscribe',
  'delete the subscription',
] as const;

type Answer = { readonly status: number; readonly replayed: boolean; readonly body: Record<string, unknown> };

/** The API of each process; `tenants` are those of the schedules. */
export async function startPublishers(databases: readonly Database[]) {
  const tenants = new Map<string, RequestContext>();
  const bySlug = async (slug: string) => tenants.get(slug)?.tenant;
  const rooms = databases.map((database) => wireWebhookRooms(database));
  const servers = await Promise.all(
    rooms.map(({ routes }, n) => {
      const database = databases[n];
      return startTestServer(routes, {
        ...(database === undefined ? {} : { database }),
        tenants: { bySlug },
      });
    }),
  );
  return { tenants, rooms, servers, close: () => Promise.all(servers.map((server) => server.drain())) };
}

export type Publishers = Awaited<ReturnType<typeof startPublishers>>;

export const createPublishing = ({ tenants, rooms, servers }: Publishers): Scenario => ({
  name: 'publishing',
  refusals: ['not_found'],
  prepare: async (stage, random) => {
    const context = await createTenantContext(stage.read);
    const { slug } = context.tenant;
    tenants.set(slug, context);
    const subscribe = (n: number) =>
      rooms[n]?.subscriptions.create(context, {
        url: 'https://example.com/',
        eventTypes: ['wallet.tx.signed'],
      });
    const subscription = (await subscribe(0))?.subscription.id ?? '';
    const post = async (process: number, body: unknown, headers: Record<string, string>): Promise<Answer> => {
      const server = servers[process] as TestServer;
      const sent = { authorization: AUTHORIZATION, ...headers };
      const answer = await server.send('POST', `/t/${slug}/api/v1/events`, body, sent);
      const replayed = answer.headers.get('idempotency-replayed') === 'true';
      return { status: answer.status, replayed, body: answer.body };
    };
    const key = { 'idempotency-key': 'one' };
    const acts: Record<(typeof ACTS)[number], (process: number) => Promise<unknown>> = {
      'publish again': (n) => post(n, EVENT, key),
      'publish another under the key': (n) => post(n, OTHER, key),
      'publish with an event id': (n) => post(n, { ...EVENT, event_id: 'given' }, {}),
      'publish with the event id again': (n) => post(n, [{ ...EVENT, event_id: 'given' }, OTHER], {}),
      'publish another with the event id': (n) => post(n, { ...OTHER, event_id: 'given' }, {}),
      'publish many under the key': (n) => post(n, [EVENT, { ...OTHER, event_id: 'given' }], key),
      subscribe: async (n) => subscribe(n),
      'delete the subscription': async (n) => rooms[n]?.subscriptions.remove(context, subscription),
    };
    const units: Unit[] = [
      { name: 'publish', process: 0, act: () => post(0, EVENT, key) },
      ...random
        .some(ACTS, 2 + random.below(2))
        .map((name, n) => ({ name, process: n + 1, act: () => acts[name](n + 1) })),
    ];
    return {
      units,
      check: async (schedule) => {
        tenants.delete(slug);
        return check(stage, schedule, context.tenant.id);
      },
    };
  },
});

const ROWS = `
SELECT (SELECT count(*)::int FROM published_events WHERE tenant_id = $1) AS published,
  (SELECT count(*)::int FROM published_events WHERE tenant_id = $1 AND event_id = ANY ($2)) AS answered,
  (SELECT count(*)::int FROM idempotency_keys WHERE tenant_id = $1) AS answers,
  (SELECT count(*)::int FROM deliveries d WHERE d.tenant_id = $1 AND NOT EXISTS (
    SELECT 1 FROM events e WHERE e.id = d.event_row)) AS "deliveries without an event",
  (SELECT count(*)::int FROM (SELECT 1 FROM deliveries WHERE tenant_id = $1
    GROUP BY event_id, subscription_id HAVING count(*) > 1) AS more) AS "events with two deliveries",
  (SELECT count(*)::int FROM deliveries d WHERE d.tenant_id = $1 AND d.status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM outbox o WHERE o.delivery_id = d.id)) AS "deliveries without work"`;

/** Only these statuses answer a request that is well formed. */
const STATUSES = [202, 207, 409, 422];

async function check(stage: Stage, schedule: Schedule, tenantId: string): Promise<string[]> {
  const names = [...schedule.ends.keys()].filter((name) => name.startsWith('publish'));
  const answers = names.flatMap((name) => {
    const answer = valueIn<Answer>(schedule, name);
    return answer === undefined ? [] : [{ name, ...answer }];
  });
  const wrong = answers.filter(({ name, status }) => !STATUSES.includes(status) && name !== schedule.faulted);
  const keyed = answers.filter(
    ({ name, status }) =>
      status < 300 && (name === 'publish' || name.includes('again') || name.includes('key')),
  );
  const underKey = keyed.filter(({ name }) => name !== 'publish with the event id again');
  const ids = answers
    .filter(({ status }) => status < 300)
    .flatMap(({ body }) =>
      body.event_id !== undefined ? [body] : ((body.results ?? body.data ?? []) as object[]),
    )
    .flatMap((one) => {
      const { event_id: id } = one as { event_id?: string };
      return id === undefined ? [] : [id];
    });
  const distinct = [...new Set(ids)];
  const firsts = underKey.filter(({ replayed }) => !replayed);
  const violations = [
    ...wrong.map(({ name, status, body }) => `${name} is answered with ${status} ${JSON.stringify(body)}`),
    ...(firsts.length > 1 ? [`${firsts.map(({ name }) => name)} each did the work of one key`] : []),
    ...(new Set(underKey.map(({ body }) => JSON.stringify(body))).size > 1
      ? ['two answers under one key']
      : []),
  ];
  const expected = {
    ...(schedule.faulted === undefined ? { published: distinct.length } : {}),
    answered: distinct.length,
    'deliveries without an event': 0,
    'events with two deliveries': 0,
    'deliveries without work': 0,
  };
  return [...violations, ...(await compareCounts(stage, expected, ROWS, [tenantId, distinct]))];
}
