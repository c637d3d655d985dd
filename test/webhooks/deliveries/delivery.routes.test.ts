// Deliveries over HTTP: what is shown, and what a retry or a cancellation leaves for the relay.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const ALL = '/api/v1/deliveries';
type Shown = { id: string; status: string; event_type: string; created_at: string };

/** A subscription with one delivery whose row is then made to be in the given state. */
async function given(
  columns: string,
  count = 1,
): Promise<{ id: string; deliveries: string[]; delivery: string }> {
  const id = await rooms.subscribe();
  const deliveries = await rooms.publish(id, count);
  await rooms.database.query(`UPDATE deliveries SET ${columns} WHERE subscription_id = $1`, [id]);
  return { id, deliveries, delivery: deliveries[0] ?? '' };
}

async function rowOf(delivery: string) {
  const { rows } = await rooms.database.query<Record<string, unknown>>(
    `SELECT status, generation, attempt_count, failed_attempts, completed_at, waiting_epoch,
       next_attempt_at <= now() AS due, retry_requested_at IS NOT NULL AS asked
     FROM deliveries WHERE id = $1`,
    [delivery],
  );
  return rows[0];
}

const steer = (delivery: string, verb: string, tenant = '') =>
  rooms.send('POST', `${tenant}${ALL}/${delivery}/${verb}`);
const statusesOf = async (id: string, query: string): Promise<string[]> =>
  (await rooms.send('GET', `/api/v1/webhooks/${id}/deliveries?${query}`)).body.data.map(
    ({ id: one }: Shown) => one,
  );

const TRIED = "status = 'retrying', attempt_count = 2, failed_attempts = 2, started_generation = 0";
const ASLEEP = `${TRIED}, next_attempt_at = now() + interval '1 hour'`;
const DONE =
  "status = 'delivered', attempt_count = 1, started_generation = 0, completed_at = now(), next_attempt_at = NULL";

describe('a delivery', () => {
  it('is shown with all its fields, its body and its attempts', async () => {
    const { id, delivery } = await given(
      "status = 'retrying', attempt_count = 2, started_generation = 1, generation = 1, last_status_code = 503, last_error = 'http:503'",
    );
    await rooms.database.query(
      `INSERT INTO attempts (delivery_id, n, tenant_id, subscription_id, generation, started_at, duration_ms, phases, status_code, outcome, error, retry_after_seconds, response_excerpt)
       SELECT $1, n, $2, $3, 0, now(), 12, '{"dns_ms": 1.5, "connect_ms": 2, "tls_ms": null, "first_byte_ms": 3.1, "total_ms": 11.8}', 503, 'retry', 'http:503', 30, 'busy' FROM unnest(ARRAY[2, 1]) AS n`,
      [delivery, rooms.demo.tenant.id, id],
    );
    const { body } = await rooms.send('GET', `/api/v1/webhooks/${id}/deliveries/${delivery}`);
    const shown = {
      id: delivery,
      subscription_id: id,
      event_id: expect.any(String),
      event_type: 'org.created',
      status: 'retrying',
      attempt_count: 2,
      next_attempt_at: expect.any(String),
      last_status_code: 503,
      last_error: 'http:503',
      created_at: expect.any(String),
      completed_at: null,
      workflow_id: `delivery/${delivery}/1`,
      workflow_url: `http://localhost:8233/namespaces/countersign/workflows/delivery%2F${delivery}%2F1`,
      workflow_reason: null,
    };
    const attempt = {
      started_at: expect.any(String),
      duration_ms: 12,
      phases: { dns_ms: 1.5, connect_ms: 2, tls_ms: null, first_byte_ms: 3.1, total_ms: 11.8 },
      status_code: 503,
      error: 'http:503',
      retry_after_seconds: 30,
      response_excerpt: 'busy',
    };
    expect(body).toEqual({
      ...shown,
      payload: {
        event_id: body.event_id,
        type: 'org.created',
        occurred_at: expect.any(String),
        tenant_id: rooms.demo.tenant.id,
        data: { n: 0 },
      },
      attempts: [
        { number: 1, ...attempt },
        { number: 2, ...attempt },
      ],
    });
    expect((await rooms.send('GET', `/api/v1/webhooks/${id}/deliveries`)).body).toEqual({
      data: [shown],
      next_cursor: null,
    });
    expect((await rooms.send('GET', `${ALL}/${delivery}`)).body).toEqual(body);
  });

  it('has no workflow while none was needed', async () => {
    const { delivery } = await given("status = 'pending'");
    const { body } = await rooms.send('GET', `${ALL}/${delivery}`);
    expect([body.workflow_id, body.workflow_url, body.workflow_reason]).toEqual([null, null, 'not_tried']);
  });

  it('is not found by another tenant, below another subscription, or by another id', async () => {
    const { id, delivery } = await given("status = 'pending'");
    const other = await rooms.subscribe();
    for (const path of [
      `/t/acme${ALL}/${delivery}`,
      `/api/v1/webhooks/${other}/deliveries/${delivery}`,
      `/api/v1/webhooks/${id}/deliveries/${other}`,
      `${ALL}/nonsense`,
    ]) {
      expect((await rooms.send('GET', path)).status).toBe(404);
    }
    expect((await steer(delivery, 'retry', '/t/acme')).status).toBe(404);
    expect((await steer(delivery, 'cancel', '/t/acme')).status).toBe(404);
    expect((await rooms.send('POST', `/api/v1/webhooks/${other}/deliveries/${delivery}/cancel`)).status).toBe(
      404,
    );
    expect(await rowOf(delivery)).toMatchObject({ status: 'pending' });
  });
});

describe('the shown status', () => {
  it.each([
    ['pending', 'active = true', 'pending'],
    ['pending', 'active = false', 'held'],
    ['pending', "state = 'down'", 'held'],
    ['pending', "state = 'held', hold_until = now() + interval '1 hour'", 'held'],
    ['pending', "state = 'held', hold_until = now() - interval '1 second'", 'pending'],
    ['pending', 'deleted = true', 'canceled'],
    ['retrying', 'active = false', 'retrying'],
    ['retrying', 'deleted = true', 'canceled'],
    ['delivered', 'active = false', 'delivered'],
    ['delivered', 'deleted = true', 'delivered'],
    ['failed', 'deleted = true', 'failed'],
    ['canceled', 'active = true', 'canceled'],
  ])(
    'of a %s one whose endpoint has %s is %s, and the filter finds it by that alone',
    async (stored, endpoint, shown) => {
      const { id, delivery } = await given(`status = '${stored}'`);
      await rooms.database.query(`UPDATE endpoints SET ${endpoint} WHERE subscription_id = $1`, [id]);
      expect((await rooms.send('GET', `${ALL}/${delivery}`)).body.status).toBe(shown);
      for (const status of ['pending', 'retrying', 'held', 'delivered', 'failed', 'canceled'])
        expect(await statusesOf(id, `status=${status}`)).toEqual(status === shown ? [delivery] : []);
    },
  );

  it('of a held one tells when the hold ends', async () => {
    const { id, delivery } = await given("status = 'pending'");
    await rooms.database.query(
      "UPDATE endpoints SET state = 'held', hold_until = '2999-01-01T00:00:00Z' WHERE subscription_id = $1",
      [id],
    );
    expect((await rooms.send('GET', `${ALL}/${delivery}`)).body.next_attempt_at).toBe(
      '2999-01-01T00:00:00.000Z',
    );
  });
});

describe('a list', () => {
  it('pages through all deliveries, the newest first, each once, while others come', async () => {
    const { id, deliveries } = await given("status = 'pending'", 7);
    const seen: string[] = [];
    let cursor: string | null = '';
    do {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await rooms.send('GET', `/api/v1/webhooks/${id}/deliveries?limit=3${query}`);
      seen.push(...body.data.map(({ id: one }: Shown) => one));
      cursor = body.next_cursor;
      await rooms.publish(id);
    } while (cursor !== null);
    expect(seen).toEqual(deliveries.toReversed());
  });

  it('filters by event type and time', async () => {
    const id = await rooms.subscribe();
    const [first] = await rooms.publish(id, 1, 'org.created');
    await rooms.database.query(
      "UPDATE deliveries SET created_at = created_at - interval '1 minute' WHERE id = $1",
      [first],
    );
    const [second] = await rooms.publish(id, 1, 'org.member.added');
    const { body } = await rooms.send('GET', `${ALL}/${second}`);
    const at = encodeURIComponent(body.created_at);
    expect(await statusesOf(id, 'event_type=org.member.added')).toEqual([second]);
    expect(await statusesOf(id, 'event_type=org.member')).toEqual([]);
    expect(await statusesOf(id, `since=${at}`)).toEqual([second]);
    expect(await statusesOf(id, 'since=1970-01-01T00:00:00Z')).toContain(second);
    expect(await statusesOf(id, `until=${at}`)).toEqual([first]);
    expect(await statusesOf(id, `since=${at}&until=${at}`)).toEqual([]);
    for (const query of ['since=yesterday', 'status=gone', 'limit=0', 'cursor=x', 'statuss=held'])
      expect((await rooms.send('GET', `${ALL}?${query}`)).status).toBe(400);
  });

  it('filters by the ids that its rows carry', async () => {
    const [id, other] = [await rooms.subscribe(), await rooms.subscribe()];
    const [first = '', second = ''] = await rooms.publish(id, 2);
    const [foreign = ''] = await rooms.publish(other, 1);
    const mine = [first, second, foreign];
    const { body } = await rooms.send('GET', `${ALL}/${first}`);
    const listed = async (query: string) => {
      const answer = await rooms.send('GET', `${ALL}?limit=200&${query}`);
      return answer.body.data.map(({ id: one }: Shown) => one).filter((one: string) => mine.includes(one));
    };
    expect(await listed(`subscription_id=${id}`)).toEqual([second, first]);
    expect(await listed(`subscription_id=${id}&event_id=${body.event_id}`)).toEqual([first]);
    expect(await listed(`event_id=${body.event_id}`)).toContain(first);
    expect(await listed(`event_id=${body.event_id}`)).not.toContain(second);
    expect(await listed(`subscription_id=${other}`)).toContain(foreign);
    expect(await statusesOf(id, `event_id=${body.event_id}`)).toEqual([first]);
    expect(await listed('event_id=unknown')).toEqual([]);
    await rooms.send('DELETE', `/api/v1/webhooks/${id}`);
    expect(await listed(`subscription_id=${id}`)).toEqual([second, first]);
    const wrong = await rooms.send('GET', `${ALL}?subscription_id=x`);
    expect([wrong.status, wrong.body.errors]).toEqual([
      400,
      [{ path: 'query.subscription_id', message: 'must be a UUID' }],
    ]);
    const twice = await rooms.send('GET', `/api/v1/webhooks/${other}/deliveries?subscription_id=${id}`);
    expect(twice.status).toBe(400);
  });

  it('across subscriptions shows those of deleted ones too, and of this tenant only', async () => {
    const id = await rooms.subscribe({}, '/t/acme');
    const deliveries = await rooms.publish(id, 2);
    await rooms.send('DELETE', `/t/acme/api/v1/webhooks/${id}`);
    const { body } = await rooms.send('GET', `/t/acme${ALL}`);
    expect(body.data.map(({ id: one, status }: Shown) => [one, status])).toEqual(
      deliveries.toReversed().map((one) => [one, 'canceled']),
    );
    const { body: demo } = await rooms.send('GET', `${ALL}?limit=200`);
    expect(demo.data.some(({ id: one }: Shown) => deliveries.includes(one))).toBe(false);
  });
});

describe('retry', () => {
  it('makes a waiting delivery due now and tells its workflow', async () => {
    const { delivery } = await given(ASLEEP);
    await rooms.database.query('DELETE FROM outbox WHERE delivery_id = $1', [delivery]);
    const { status, body } = await steer(delivery, 'retry');
    expect([status, body.status]).toEqual([202, 'retrying']);
    expect(await rowOf(delivery)).toMatchObject({
      status: 'retrying',
      generation: 0,
      failed_attempts: 2,
      due: true,
      asked: true,
    });
    expect(await rooms.outboxOf(delivery)).toEqual([{ kind: 'command', command: 'retry', generation: 0 }]);
  });

  it('leaves an untried delivery to the outbox row that it has', async () => {
    const { delivery } = await given("status = 'pending'");
    expect((await steer(delivery, 'retry')).status).toBe(202);
    expect(await rooms.outboxOf(delivery)).toEqual([{ kind: 'first', command: null, generation: 0 }]);
  });

  it.each([
    [DONE, 'retrying', 1],
    [
      "status = 'failed', attempt_count = 12, failed_attempts = 12, started_generation = 0, completed_at = now()",
      'retrying',
      12,
    ],
    ["status = 'canceled', completed_at = now()", 'pending', 0],
  ])('begins one with %s anew', async (columns, status, attempts) => {
    const { delivery } = await given(columns);
    await rooms.database.query('DELETE FROM outbox WHERE delivery_id = $1', [delivery]);
    const { body } = await steer(delivery, 'retry');
    expect(body).toMatchObject({ status, attempt_count: attempts, completed_at: null });
    expect(await rowOf(delivery)).toMatchObject({
      generation: 1,
      failed_attempts: 0,
      due: true,
      asked: false,
    });
    expect(await rooms.outboxOf(delivery)).toEqual([{ kind: 'start', command: null, generation: 1 }]);
    await steer(delivery, 'retry');
    expect(await rowOf(delivery)).toMatchObject({ generation: 1, asked: true });
    expect(await rooms.outboxOf(delivery)).toHaveLength(1);
  });

  it('ends a hold of the subscription', async () => {
    const { id, delivery } = await given(ASLEEP);
    await rooms.database.query(
      "UPDATE endpoints SET state = 'held', hold_until = now() + interval '1 hour' WHERE subscription_id = $1",
      [id],
    );
    await steer(delivery, 'retry');
    expect((await rooms.send('GET', `/api/v1/webhooks/${id}`)).body.endpoint.state).toBe('releasing');
  });

  it('is refused when the subscription is deleted', async () => {
    const { id, delivery } = await given(DONE);
    await rooms.send('DELETE', `/api/v1/webhooks/${id}`);
    const { status, body } = await steer(delivery, 'retry');
    expect([status, body.error]).toEqual([409, 'conflict']);
  });

  it('happens once for an idempotency key', async () => {
    const { id, delivery } = await given(DONE);
    const path = `/api/v1/webhooks/${id}/deliveries/${delivery}/retry`;
    const headers = { 'idempotency-key': 'retry-1' };
    const first = await rooms.send('POST', path, undefined, headers);
    const again = await rooms.send('POST', path, undefined, headers);
    expect(again.body).toEqual(first.body);
    expect(await rowOf(delivery)).toMatchObject({ generation: 1, asked: false });
  });
});

describe('cancel', () => {
  it('takes an untried delivery out of the outbox', async () => {
    const { delivery } = await given("status = 'pending'");
    const { status, body } = await steer(delivery, 'cancel');
    expect(status).toBe(202);
    expect(body).toMatchObject({
      status: 'canceled',
      next_attempt_at: null,
      completed_at: expect.any(String),
    });
    expect(await rooms.outboxOf(delivery)).toEqual([]);
  });

  it('tells the workflow of a tried one, and leaves what a relay has claimed', async () => {
    const { delivery } = await given(ASLEEP);
    await rooms.database.query('UPDATE outbox SET claimed_by = gen_random_uuid() WHERE delivery_id = $1', [
      delivery,
    ]);
    await steer(delivery, 'cancel');
    expect(await rooms.outboxOf(delivery)).toEqual([
      { kind: 'command', command: 'cancel', generation: 0 },
      { kind: 'first', command: null, generation: 0 },
    ]);
  });

  it('is done once, and refused for what has ended otherwise', async () => {
    const canceled = await given("status = 'pending'");
    await steer(canceled.delivery, 'cancel');
    expect((await steer(canceled.delivery, 'cancel')).status).toBe(202);
    const { rows } = await rooms.database.query(
      "SELECT 1 FROM audit_log WHERE target_id = $1 AND action LIKE '%canceled'",
      [canceled.delivery],
    );
    expect(rows).toHaveLength(1);
    const { delivery } = await given(DONE);
    const { status, body } = await steer(delivery, 'cancel');
    expect([status, body.error]).toEqual([409, 'conflict']);
    expect(await rowOf(delivery)).toMatchObject({ status: 'delivered' });
  });
});

describe('many acts together on one row', () => {
  it('replay an ended delivery once', async () => {
    const { delivery } = await given(DONE);
    await rooms.database.query('DELETE FROM outbox WHERE delivery_id = $1', [delivery]);
    const answers = await Promise.all(Array.from({ length: 8 }, () => steer(delivery, 'retry')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(await rowOf(delivery)).toMatchObject({ generation: 1, status: 'retrying' });
    expect(await rooms.outboxOf(delivery)).toEqual([{ kind: 'start', command: null, generation: 1 }]);
  });

  it('retry and cancel leave the row and the outbox in agreement', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { delivery } = await given("status = 'pending'");
      await Promise.all([steer(delivery, 'retry'), steer(delivery, 'cancel'), steer(delivery, 'retry')]);
      const row = await rowOf(delivery);
      const work = (await rooms.outboxOf(delivery)).filter(({ kind }) => kind !== 'command');
      const started = row?.status === 'canceled' ? [] : [row?.generation];
      expect(work.map(({ generation }) => generation)).toEqual(started);
    }
  });
});
