// Streams that their receiver polls: what it gets until it acknowledges or refuses it (RFC 8936).
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '../../workflows/delivery-engine.ts';
import { POLL, startStreamRooms } from './stream-rooms.ts';

const rooms = await startStreamRooms();
afterAll(() => rooms.close());

describe('a polled stream', () => {
  const poll = async (id: string, body: Record<string, unknown> = {}) => {
    const { status, body: answer } = await rooms.poll(id, { returnImmediately: true, ...body });
    expect(status).toBe(200);
    return answer as { sets: Record<string, string>; moreAvailable?: boolean };
  };

  it('hands its tokens out until they are acknowledged', async () => {
    const { makeAgent, suspend } = rooms;
    const { stream_id: id } = (await rooms.create({ delivery: { method: POLL } })).body;
    expect(await poll(id)).toEqual({ sets: {} });
    const agents = [await makeAgent(), await makeAgent(), await makeAgent()];
    for (const agent of agents) await suspend(agent);

    const first = await poll(id, { maxEvents: 2 });
    expect(first.moreAvailable).toBe(true);
    const claims = await Promise.all(Object.values(first.sets).map((token) => rooms.read(token)));
    expect(claims.map(({ sub_id: subject }) => subject.sub)).toEqual(agents.slice(0, 2));
    expect(claims.map(({ jti }) => jti)).toEqual(Object.keys(first.sets));
    expect(Object.keys((await poll(id, { maxEvents: 2 })).sets)).toEqual(Object.keys(first.sets));

    expect(await poll(id, { maxEvents: 0, ack: Object.keys(first.sets) })).toEqual({ sets: {} });
    const rest = await poll(id, { ack: ['unknown', ...Object.keys(first.sets)] });
    expect(Object.keys(rest.sets)).toHaveLength(1);
    expect(rest.moreAvailable).toBeUndefined();

    const [jti = ''] = Object.keys(rest.sets);
    expect(await poll(id, { setErrs: { [jti]: { err: 'invalid_key', description: 'no' } } })).toEqual({
      sets: {},
    });
    const delivery = await rooms.owner.send('GET', `/api/v1/deliveries/${jti}`);
    expect(delivery.body).toMatchObject({ status: 'failed', last_error: 'set:invalid_key' });
    const { rows } = await rooms.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM outbox WHERE endpoint = $1',
      [id],
    );
    expect(rows[0]?.count).toBe(0);
  });

  it('answers a request that waits as soon as there is a token', async () => {
    const { stream_id: id } = (await rooms.create({ delivery: { method: POLL } })).body;
    const waiting = rooms.poll(id, {});
    await rooms.suspend(await rooms.makeAgent());
    expect(Object.keys((await waiting).body.sets)).toHaveLength(1);
  });

  it('gives nothing while it is paused, and everything afterwards', async () => {
    const { makeAgent, suspend, setStatus } = rooms;
    const { stream_id: id } = (await rooms.create({ delivery: { method: POLL } })).body;
    await setStatus(id, 'paused');
    await suspend(await makeAgent());
    expect(await poll(id)).toEqual({ sets: {} });
    await setStatus(id, 'enabled');
    expect(Object.keys((await poll(id)).sets)).toHaveLength(1);
  });

  it('is not acknowledged by another stream of the client', async () => {
    const one = (await rooms.create({ delivery: { method: POLL } })).body.stream_id;
    const other = (await rooms.create({ delivery: { method: POLL } })).body.stream_id;
    await rooms.suspend(await rooms.makeAgent());
    const jtis = Object.keys((await poll(one)).sets);
    await poll(other, { ack: jtis, setErrs: Object.fromEntries(jtis.map((jti) => [jti, { err: 'x' }])) });
    expect(Object.keys((await poll(one)).sets)).toEqual(jtis);
  });

  it('tells the workflow of a delivery that was pushed before', async () => {
    const { makeAgent, suspend, owner, database, pushTo, create } = rooms;
    rooms.receiver.answer('/was-pushed', () => ({ status: 500 }));
    const id = (await create({ delivery: pushTo('/was-pushed') })).body.stream_id;
    await suspend(await makeAgent());
    await eventually(async () => {
      const { rows } = await database.query<{ attempts: number }>(
        'UPDATE deliveries SET started_generation = generation WHERE subscription_id = $1 AND attempt_count > 0 RETURNING 1',
        [id],
      );
      return rows.length > 0;
    }, 'the failed push');
    await owner.send('PATCH', '/api/v1/ssf/streams', { stream_id: id, delivery: { method: POLL } });
    const { sets } = await poll(id);
    await poll(id, { ack: Object.keys(sets), maxEvents: 0 });
    const { rows } = await database.query<{ kind: string; command: string }>(
      'SELECT kind, command FROM outbox WHERE delivery_id = ANY ($1::uuid[])',
      [Object.keys(sets)],
    );
    expect(rows).toContainEqual({ kind: 'command', command: 'cancel' });
  });

  it('is refused where it is pushed', async () => {
    expect(
      (await rooms.poll((await rooms.create({ delivery: rooms.pushTo('/pushed') })).body.stream_id)).status,
    ).toBe(409);
  });
});
