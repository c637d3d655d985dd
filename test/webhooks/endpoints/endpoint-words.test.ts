// The word for the state of an endpoint: the interface and its workflow say the same of the same row, and why.
import { afterAll, expect, it } from 'vitest';
import { EndpointRecoveryService } from '../../../src/webhooks/endpoints/endpoint-recovery.service.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const FAILS = `failing_since = now() - interval '5 min', failures_in_a_row = 4, last_error = 'http:503'`;
const SILENT = FAILS.replace('http:503', 'timeout');
const HOUR = `now() + interval '1 hour'`;

const STATES: readonly (readonly [what: string, row: string, waiting: number, state: string])[] = [
  ['works', `recovered_at = now()`, 1, 'open'],
  ['fails, and is open', FAILS, 1, 'failing'],
  ['failed last, and has nothing to send', FAILS, 0, 'failing'],
  [
    'has a hold that has ended',
    `${FAILS}, state = 'held', hold_until = now() - interval '1 second'`,
    1,
    'failing',
  ],
  ['is held', `${FAILS}, state = 'held', hold_until = ${HOUR}`, 1, 'held'],
  ['is held with its host', `host_held_until = ${HOUR}`, 1, 'held'],
  ['is held with its host without an end', `host_held_until = 'infinity'`, 1, 'held'],
  ['is down', `${FAILS}, state = 'down', probe_at = ${HOUR}`, 1, 'down'],
  ['is down without an answer', `${SILENT}, state = 'down', probe_at = ${HOUR}`, 1, 'down'],
  ['is probed', `${FAILS}, state = 'down', probe_at = now() - interval '1 second'`, 1, 'probing'],
  ['comes back', `permits = 1, permits_at = now()`, 1, 'releasing'],
  [
    'is inactive, and was down',
    `${FAILS}, active = false, state = 'down', probe_at = ${HOUR}`,
    1,
    'inactive',
  ],
  ['is of a suspended tenant', `tenant_held_until = 'infinity'`, 1, 'suspended'],
];

it.each(STATES)('of an endpoint that %s', async (_, row, waiting, state) => {
  const id = await rooms.subscribe();
  if (waiting > 0) await rooms.publish(id, waiting);
  await rooms.database.query(`UPDATE endpoints SET ${row} WHERE subscription_id = $1`, [id]);
  const unused = () => Promise.reject(new Error('only reads'));
  const workflow = await new EndpointRecoveryService({
    database: rooms.database,
    subscriptions: { deactivateFailing: unused },
    tenants: { byId: unused },
    records: { write: unused },
    commands: { add: unused },
    notifier: rooms.notifier,
  }).read({ tenantId: rooms.demo.tenant.id, subscriptionId: id });
  const { endpoint } = (await rooms.send('GET', `/api/v1/webhooks/${id}`)).body;
  expect([endpoint.state, workflow.state]).toEqual([state, state]);
  expect(endpoint).toMatchObject({
    failing_since: workflow.failingSince,
    last_error: workflow.lastError,
    last_status_code: workflow.lastError === 'http:503' ? 503 : null,
    held_by: workflow.heldBy,
    waiting: workflow.waiting,
    next_probe_at: state === 'inactive' ? null : workflow.opensAt,
    hold_until: state === 'held' ? workflow.opensAt : null,
  });
});

it('tells each code that deliveries wait or have failed with, the most first, and counts those of a crowd', async () => {
  const id = await rooms.subscribe({ event_types: ['vault.key.created'] });
  const [refused = '', late = '', tried = '', crowded = '', old = '', ...untried] = await rooms.publish(
    id,
    7,
    'vault.key.created',
  );
  const failed = (error: string, ids: readonly string[], columns: string) =>
    rooms.database.query(
      `UPDATE deliveries SET last_error = $2, last_status_code = substring($2 FROM 'http:(.*)')::int, ${columns} WHERE id = ANY ($1)`,
      [ids, error],
    );
  await failed('http:422', [refused, late], `status = 'failed', completed_at = now()`);
  await failed(
    'http:503',
    [tried, crowded],
    `status = 'retrying', next_attempt_at = now() + interval '1 min'`,
  );
  await failed('timeout', [old], `status = 'retrying', next_attempt_at = now() + interval '1 min'`);
  await rooms.database.query(
    `INSERT INTO crowded_deliveries (delivery_id, tenant_id, subscription_id, generation, due_at)
       SELECT id, tenant_id, subscription_id, generation, next_attempt_at FROM deliveries WHERE id = $1`,
    [crowded],
  );
  const { endpoint } = (await rooms.send('GET', `/api/v1/webhooks/${id}`)).body;
  expect([untried.length, endpoint.waiting]).toEqual([2, 5]);
  expect(endpoint.failures).toEqual([
    { error: 'http:422', status_code: 422, waiting: 0, failed: 2 },
    { error: 'http:503', status_code: 503, waiting: 2, failed: 0 },
    { error: 'timeout', status_code: null, waiting: 1, failed: 0 },
  ]);
  await rooms.database.query(`UPDATE endpoints SET last_error = 'http:503' WHERE subscription_id = $1`, [id]);
  const { body: list } = await rooms.send('GET', '/api/v1/webhooks');
  const listed = list.data.find((one: { id: string }) => one.id === id);
  expect(listed.endpoint).toMatchObject({ waiting: 5, last_error: 'http:503', last_status_code: 503 });
});
