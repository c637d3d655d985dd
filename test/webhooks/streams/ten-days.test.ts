// A stream that is paused for ten days, on a clock of its own: it gets everything afterwards, and nothing twice.
import { afterAll, expect, it } from 'vitest';
import { withSchemas } from '../../setup/database.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { advanceClock, installVirtualClock, VIRTUAL_TIME } from '../../workflows/virtual-clock.ts';
import { POLL, startStreamRooms } from './stream-rooms.ts';

const DAY = 86_400_000;

const rooms = await startStreamRooms(async (_url, ownerUrl) => {
  await installVirtualClock(ownerUrl);
  return withSchemas(ownerUrl, VIRTUAL_TIME);
});
afterAll(() => rooms.close());

it('a stream that is paused for ten days loses nothing, pushed or polled', async () => {
  const { receiver, create, pushTo, makeAgent, setStatus, poll, read, database } = rooms;
  receiver.answer('/away', () => ({ status: 202 }));
  const pushed = (await create({ delivery: pushTo('/away') })).body.stream_id;
  const polled = (await create({ delivery: { method: POLL } })).body.stream_id;
  await setStatus(pushed, 'paused');
  await setStatus(polled, 'paused');
  const agents: string[] = [];
  for (let day = 0; day < 10; day += 1) {
    const agentId = await makeAgent();
    agents.push(agentId);
    await rooms.owner.send('DELETE', `/api/v1/agents/${agentId}`);
    await advanceClock(database, DAY);
  }
  expect(receiver.of('/away')).toHaveLength(0);
  expect((await poll(polled)).body.sets).toEqual({});

  await setStatus(pushed, 'enabled');
  await setStatus(polled, 'enabled');
  await eventually(() => receiver.of('/away').length >= agents.length, 'all tokens');
  const claims = await Promise.all(receiver.of('/away').map(({ body }) => read(body.toString())));
  expect(claims.map(({ sub_id: subject }) => subject.sub).sort()).toEqual([...agents].sort());
  expect(new Set(claims.map(({ jti }) => jti)).size).toBe(agents.length);
  const { sets } = (await poll(polled)).body as { sets: Record<string, string> };
  const tokens = await Promise.all(Object.values(sets).map((token) => read(token)));
  expect(tokens.map(({ sub_id: subject }) => subject.sub)).toEqual(agents);
});
