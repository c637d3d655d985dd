// What a client that manages webhooks reaches of a stream that is another client's: it may read its deliveries, and
// change nothing, so the receiver gets its tokens.
import { afterAll, describe, expect, it } from 'vitest';
import { startStreamRooms } from './stream-rooms.ts';

const rooms = await startStreamRooms();
const token = await rooms.receiverToken('webhooks:read', 'webhooks:write');
const send = (method: string, path: string, body?: object, by: string = token) =>
  rooms.owner.send(method, path, body, by);
const stream = (await rooms.create()).body.stream_id;
await rooms.suspend(await rooms.makeAgent());
const { body } = await send('GET', `/api/v1/deliveries?subscription_id=${stream}`);
const delivery = body.data[0].id;
afterAll(() => rooms.close());

const range = { since: '2020-01-01T00:00:00Z', status: 'canceled' };

describe('a stream of another client', () => {
  it.each([
    ['GET', '/api/v1/webhooks/{stream}', 404],
    ['PATCH', '/api/v1/webhooks/{stream}', 404],
    ['DELETE', '/api/v1/webhooks/{stream}', 404],
    ['POST', '/api/v1/webhooks/{stream}/test', 404],
    ['POST', '/api/v1/webhooks/{stream}/secret/rotate', 404],
    ['POST', '/api/v1/webhooks/{stream}/replay', 404, range],
    ['GET', '/api/v1/webhooks/{stream}/replays', 404],
    ['GET', '/api/v1/webhooks/{stream}/deliveries', 404],
    ['GET', '/api/v1/webhooks/{stream}/deliveries/{delivery}', 404],
    ['POST', '/api/v1/webhooks/{stream}/deliveries/{delivery}/retry', 404],
    ['POST', '/api/v1/webhooks/{stream}/deliveries/{delivery}/cancel', 404],
    ['POST', '/api/v1/deliveries/{delivery}/retry', 403],
    ['POST', '/api/v1/deliveries/{delivery}/cancel', 403],
    ['GET', '/api/v1/deliveries/{delivery}', 200],
  ] as const)('answers %s %s with %i', async (method, path, status, body: object = {}) => {
    const place = path.replace('{stream}', stream).replace('{delivery}', delivery);
    const answer = await send(method, place, method === 'GET' || method === 'DELETE' ? undefined : body);
    expect(answer, answer.text).toMatchObject({ status });
    if (status === 403) expect(answer.body).toMatchObject({ error: 'policy_denied' });
  });

  it('still has the token for its receiver, and its receiver may cancel it', async () => {
    expect(Object.keys((await rooms.poll(stream)).body.sets)).toEqual([delivery]);
    const canceled = await send('POST', `/api/v1/deliveries/${delivery}/cancel`, {}, rooms.owner.token);
    expect(canceled).toMatchObject({ status: 202, body: { status: 'canceled' } });
    expect((await rooms.poll(stream)).body.sets).toEqual({});
  });
});
