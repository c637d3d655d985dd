// A probe that a tenant asks for: what it opens, what it makes due, and what it refuses in words.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const HOUR = `now() + interval '1 hour'`;
const FAILS = `failing_since = now() - interval '5 min', failures_in_a_row = 12, last_error = 'http:503'`;
const DOWN = `${FAILS}, state = 'down', probe_at = ${HOUR}, probe_step = 6`;
const TYPE = 'vault.key.created';

async function given(row: string, waiting = 2) {
  const id = await rooms.subscribe({ event_types: [TYPE] });
  const deliveries = waiting === 0 ? [] : await rooms.publish(id, waiting, TYPE);
  await rooms.database.query(`UPDATE endpoints SET ${row} WHERE subscription_id = $1`, [id]);
  return { id, deliveries };
}

const probe = (id: string) => rooms.send('POST', `/api/v1/webhooks/${id}/probe`);

async function rowOf(id: string) {
  const { rows } = await rooms.database.query(
    `SELECT state, permits, hold_until, probe_at <= now() AS due, endpoint_is_open(endpoints) AS open FROM endpoints WHERE subscription_id = $1`,
    [id],
  );
  return rows[0];
}

describe('POST /api/v1/webhooks/{id}/probe', () => {
  it.each([
    ['down', DOWN, 'probing', { state: 'down', due: true }],
    ['held', `state = 'held', hold_until = ${HOUR}`, 'releasing', { state: 'held', due: null }],
    ['down and held', `${DOWN}, hold_until = ${HOUR}`, 'probing', { state: 'down', due: true }],
  ])(
    'lets one attempt begin at an endpoint that is %s, calls its workflow, and is on record',
    async (_, row, state, after) => {
      const { id } = await given(row);
      const { status, body } = await probe(id);
      expect([status, body.id, body.endpoint.state, body.endpoint.next_probe_at]).toEqual([
        202,
        id,
        state,
        null,
      ]);
      expect(await rowOf(id)).toEqual({ ...after, permits: 1, hold_until: null, open: true });
      const { rows: audit } = await rooms.database.query(
        `SELECT action, actor_kind FROM audit_log WHERE target_id = $1 ORDER BY id DESC LIMIT 1`,
        [id],
      );
      expect(audit).toEqual([{ action: 'webhook.endpoint.probed', actor_kind: 'application' }]);
      const { rows: commands } = await rooms.database.query(
        `SELECT workflow FROM workflow_commands WHERE entity_id = $1`,
        [id],
      );
      expect(commands).toEqual([{ workflow: 'endpointRecovery' }]);
    },
  );

  it('makes deliveries that wait for an attempt due, of a crowd too, so that there is one to send', async () => {
    const { id, deliveries } = await given(DOWN, 2);
    const [own = '', crowded = ''] = deliveries;
    await rooms.database.query('DELETE FROM outbox WHERE endpoint = $1', [id]);
    await rooms.database.query(
      `UPDATE deliveries SET status = 'retrying', attempt_count = 1, failed_attempts = 1, next_attempt_at = ${HOUR},
         started_generation = CASE WHEN id = $1 THEN 0 END WHERE id = ANY ($2)`,
      [own, deliveries],
    );
    await rooms.database.query(
      `INSERT INTO crowded_deliveries (delivery_id, tenant_id, subscription_id, generation, due_at)
         SELECT id, tenant_id, subscription_id, generation, next_attempt_at FROM deliveries WHERE id = $1`,
      [crowded],
    );
    expect((await probe(id)).status).toBe(202);
    expect(await rooms.outboxOf(own)).toEqual([{ kind: 'command', command: 'retry', generation: 0 }]);
    expect(await rooms.outboxOf(crowded)).toEqual([{ kind: 'first', command: null, generation: 0 }]);
  });

  it.each([
    ['open', `recovered_at = now()`, 2, 'conflict', 'takes deliveries'],
    ['failing', FAILS, 2, 'conflict', 'failing, but not closed'],
    [
      'probing',
      `${FAILS}, state = 'down', probe_at = now() - interval '1 second'`,
      2,
      'conflict',
      'probing already',
    ],
    ['releasing', `permits = 3, permits_at = now()`, 2, 'conflict', 'releasing already'],
    [
      'held with its host',
      `host_held_until = 'infinity'`,
      2,
      'conflict',
      'The operator of this service holds',
    ],
    ['down, and has nothing to send', DOWN, 0, 'conflict', 'No delivery waits'],
    ['inactive', `${DOWN}, active = false`, 2, 'subscription_inactive', 'Activating it probes'],
  ])('refuses an endpoint that is %s', async (_, row, waiting, error, words) => {
    const { id } = await given(row, waiting);
    const before = await rowOf(id);
    const { status, body } = await probe(id);
    expect([status, body.error]).toEqual([409, error]);
    expect(body.detail).toContain(words);
    expect(await rowOf(id)).toEqual(before);
  });

  it('is once, however many ask for it together, and of this tenant alone', async () => {
    const { id } = await given(DOWN);
    const answers = await Promise.all([probe(id), probe(id), probe(id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
    const other = await given(DOWN);
    expect((await rooms.send('POST', `/t/acme/api/v1/webhooks/${other.id}/probe`)).status).toBe(404);
  });
});
