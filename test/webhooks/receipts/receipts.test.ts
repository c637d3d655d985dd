// Receipts over HTTP: what ends access answers with a link, and the receipt shows each receiver with its time.
import { afterAll, describe, expect, it } from 'vitest';
import { newKeyPair } from '../../isolation/rows.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { startStreamRooms } from '../streams/stream-rooms.ts';

const rooms = await startStreamRooms();
afterAll(() => rooms.close());

/** The path in the header `Link` of an answer. */
function receiptOf(headers: Headers): string {
  const link = /^<(.+)>; rel="receipt"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
  return link.slice(rooms.owner.credentials.base_url.length);
}

const read = async (path: string) => (await rooms.owner.send('GET', path)).body;

describe('a receipt', () => {
  it('says that nobody was told and until when tokens live, as was counted before', async () => {
    const { owner, makeAgent } = rooms;
    const agentId = await makeAgent();
    const counted = (cause: string) => read(`/api/v1/agents/${agentId}/receivers?cause=${cause}`);
    await owner.send('POST', '/api/v1/webhooks', {
      url: `${rooms.receiver.url}/hook`,
      event_types: ['admin.agent.key.*', 'admin.agent.key.revoked'],
    });
    expect(await counted('admin.agent.key.revoked')).toEqual({
      cause: 'admin.agent.key.revoked',
      agent_id: agentId,
      receivers: 1,
    });
    expect(await counted('admin.delegation.revoked')).toMatchObject({ receivers: 0 });
    const unknown = await owner.send('GET', `/api/v1/agents/${agentId}/receivers?cause=org.created`);
    expect([unknown.status, unknown.body.errors[0].path]).toEqual([400, 'query.cause']);
    const { body: delegation } = await owner.send('POST', '/api/v1/delegations', {
      subject: { issuer: 'https://idp.example', sub: 'nobody' },
      agent_id: agentId,
      scopes: ['openid'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await owner.send('POST', `/api/v1/delegations/${delegation.id}/revoke`, { reason: 'test' });
    const [entry] = (await read(`/api/v1/agents/${agentId}/receipts`)).data;
    const receipt = await read(`/api/v1/agents/${agentId}/receipts/${entry.id}`);
    const end = new Date(Date.parse(receipt.created_at) + 300_000).toISOString();
    expect(receipt).toMatchObject({ status: 'no_receivers', receivers: [], tokens_end_by: end });
    expect(receipt.text).toBe(
      `Nobody is told: tokens from before are valid at resource servers that follow no feed until ${end.slice(0, 19).replace('T', ' ')} UTC.`,
    );
  });

  it('is linked from a suspension, and shows webhooks and streams that have acknowledged, and one that is held', async () => {
    const { owner, receiver, suspend, makeAgent, pushTo, create } = rooms;
    receiver.answer('/pushed', () => ({ status: 202 }));
    receiver.answer('/busy', () => ({ status: 503, headers: { 'retry-after': '3600' } }));
    await create({ delivery: pushTo('/pushed') });
    const polled = (await create()).body.stream_id;
    for (const path of ['/hook', '/busy'])
      await owner.send('POST', '/api/v1/webhooks', {
        url: `${receiver.url}${path}`,
        event_types: ['admin.agent.suspended'],
      });
    const agentId = await makeAgent();
    const suspended = await suspend(agentId);
    const path = receiptOf(suspended.headers);
    const receipt = await eventually(async () => {
      const found = await read(path);
      return found.acknowledged === 2 && found.receivers.some(hasFailed) && found;
    }, 'two acknowledgements and a failure');
    expect(receipt).toMatchObject({
      agent_id: agentId,
      cause: 'admin.agent.suspended',
      status: 'waiting',
      completed_at: null,
      workflow_id: `receipt/${receipt.id}`,
    });
    expect(receipt.text).toMatch(
      /^2 of 4 receivers have acknowledged, the last after \d+\.\d s; 1 is waiting; 1 is held\.$/,
    );
    const shown = receipt.receivers.map(({ kind, state, last_error }: Record<string, string>) => [
      kind,
      state,
      last_error,
    ]);
    expect(shown.sort()).toEqual([
      ['stream', 'acknowledged', null],
      ['stream', 'waiting', null],
      ['webhook', 'acknowledged', null],
      ['webhook', 'held', 'http:503'],
    ]);
    for (const { state, acknowledged_at: at } of receipt.receivers)
      expect(at === null).toBe(state !== 'acknowledged');

    const { sets } = (await rooms.poll(polled)).body;
    await rooms.poll(polled, { maxEvents: 0, ack: Object.keys(sets) });
    expect(await read(path)).toMatchObject({ acknowledged: 3 });
  });

  it('is made for a deletion, the revocation of a key, and that of a delegation', async () => {
    const { owner, makeAgent } = rooms;
    const agentId = await makeAgent();
    const delegation = await owner.send('POST', '/api/v1/delegations', {
      subject: { issuer: 'https://idp.example', sub: 'user' },
      agent_id: agentId,
      scopes: ['openid'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await owner.send('POST', `/api/v1/delegations/${delegation.body.id}/revoke`, { reason: 'test' });
    const keys = `/api/v1/agents/${agentId}/keys`;
    const key = await owner.send('POST', keys, newKeyPair().body);
    await owner.send('POST', `${keys}/${key.body.key_id}/revoke`, { reason: 'test' });
    const deleted = await owner.send('DELETE', `/api/v1/agents/${agentId}`);
    expect(await read(receiptOf(deleted.headers))).toMatchObject({ cause: 'admin.agent.deleted' });
    const { data } = await read(`/api/v1/agents/${agentId}/receipts`);
    expect(data.map(({ cause }: { cause: string }) => cause)).toEqual([
      'admin.agent.deleted',
      'admin.agent.key.revoked',
      'admin.delegation.revoked',
    ]);
  });

  it('is not another agent’s, and there is none for what changes nothing', async () => {
    const { owner, makeAgent, suspend } = rooms;
    const [one, other] = [await makeAgent(), await makeAgent()];
    const path = receiptOf((await suspend(one)).headers);
    expect((await suspend(one)).headers.get('link')).toBeNull();
    expect((await owner.send('GET', path.replace(one, other))).status).toBe(404);
    expect((await owner.send('GET', `/api/v1/agents/${crypto.randomUUID()}/receipts`)).status).toBe(404);
  });
});

function hasFailed({ last_error: error }: { last_error: string | null }): boolean {
  return error !== null;
}
