// Nobody grants more than they hold: every route that writes agents or applications, tried with tokens of all
// strengths.
import { afterAll, describe, expect, it } from 'vitest';
import { AGENT_SCOPES, APPLICATION_SCOPES, MANAGEMENT_SCOPES } from '../../../src/platform/scopes.ts';
import {
  agents,
  allBut,
  applications,
  ENDING,
  expectRefusal,
  HARMLESS,
  HELD,
  newKey,
  OF_AGENTS,
  OF_APPLICATIONS,
  type Prepared,
  type Request,
  startGrantServer,
} from './grant-requests.ts';

const server = await startGrantServer();
afterAll(() => server.close());

const ask = async (request: (given: Prepared) => Request, scopes: readonly string[]) =>
  server.send(request(await server.prepare()), scopes);

async function expectRefused(
  request: (given: Prepared) => Request,
  { scopes, missing }: { scopes: readonly string[]; missing: string },
) {
  expectRefusal(await ask(request, scopes), missing);
}

it('knows every route that writes agents or applications', () => {
  const known = [...OF_AGENTS, ...OF_APPLICATIONS].map(([operationId]) => operationId);
  const all = new Set([...known, ...Object.keys(HARMLESS), ...ENDING]);
  expect([...all].sort()).toEqual(server.writing.map(({ operationId }) => operationId).sort());
});

describe.each(OF_AGENTS)('%s: a caller that %s, an agent', (operationId, _what, request) => {
  it('needs all scopes of the agent', async () => {
    const scope = server.scopeOf(operationId);
    expect((await ask(request, [scope, ...HELD])).status).toBeLessThan(300);
    await expectRefused(request, { scopes: [scope], missing: 'openid wallet:sign' });
    await expectRefused(request, { scopes: [scope, 'openid'], missing: 'wallet:sign' });
    await expectRefused(request, {
      scopes: allBut('wallet:sign', 'agents:impersonate'),
      missing: 'wallet:sign',
    });
  });

  it('or agents:impersonate, which never stands for the scopes of an application', async () => {
    const scope = server.scopeOf(operationId);
    const given = await server.prepare();
    const asked = request(given);
    const scopes = [scope, 'agents:impersonate'];
    if (scope === 'applications:write') {
      const refused = await server.send(asked, scopes);
      expectRefusal(refused, 'openid');
      expect(refused.body.detail).toContain('of the application');
      const body = asked[2] as { scopes?: readonly string[] } | undefined;
      scopes.push(...(body?.scopes ?? ['openid']));
    }
    expect((await server.send(asked, scopes)).status).toBeLessThan(300);
    const lonely = await ask(request, ['agents:impersonate', ...HELD]);
    expect([lonely.status, lonely.body.error]).toEqual([403, 'insufficient_scope']);
  });
});

describe.each(OF_APPLICATIONS)(
  '%s: a caller that %s, an application of no agent',
  (operationId, _what, request) => {
    it('needs all its scopes, for which agents:impersonate does not stand', async () => {
      const scope = server.scopeOf(operationId);
      expect((await ask(request, [scope, ...HELD])).status).toBeLessThan(300);
      await expectRefused(request, { scopes: [scope], missing: 'openid wallet:sign' });
      await expectRefused(request, { scopes: allBut('wallet:sign'), missing: 'wallet:sign' });
    });
  },
);

it.each(Object.entries(HARMLESS))(
  '%s takes away with the scope of the route alone',
  async (name, request) => {
    expect((await ask(request, [server.scopeOf(name)])).status).toBeLessThan(300);
  },
);

describe('two clients that lack one of its scopes', () => {
  const all = [...OF_AGENTS, ...OF_APPLICATIONS];
  const firsts: (readonly [string, (given: Prepared) => Request])[] = [
    ...all.map(([id, what, request]) => [`${id}, which ${what}`, request] as const),
    ['updateApplication, which unlinks it', ({ linked }) => ['PATCH', linked, { agent_id: null }]],
    ...Object.entries(HARMLESS),
  ];

  it.each(firsts)('get no credential after %s', async (first, request) => {
    const given = await server.prepare();
    const send = (asked: Request) => server.send(asked, allBut('wallet:sign', 'agents:impersonate'));
    await send(request(given));
    for (const [id, what, second] of all) {
      const answer = await send(second(given));
      const { status, body } = answer;
      const isEnded = /^(delete|revoke)/.test(first) && [400, 404, 409].includes(status);
      if (!isEnded) expect([id, what, status, body.error]).toEqual([id, what, 403, 'insufficient_scope']);
      if (status === 403) expect(body.detail).toContain('lacks wallet:sign of the');
    }
  });
});

describe('a client that lacks a scope that an administrator has taken away, and may give back', () => {
  const lasting = [...OF_AGENTS, ...OF_APPLICATIONS].filter(([, what]) => !what.startsWith('takes a scope'));

  it.each(lasting)('gets nothing by %s, which %s', async (_operationId, _what, request) => {
    const given = await server.prepare();
    for (const place of [given.agent, given.own]) {
      const narrow: Request = ['PATCH', place, { scopes: ['openid'] }];
      expect((await server.send(narrow, APPLICATION_SCOPES)).status).toBe(200);
    }
    expectRefusal(
      await server.send(request(given), allBut('wallet:sign', 'agents:impersonate')),
      'wallet:sign',
    );
  });
});

describe('a client with agents:impersonate, of an application that was narrowed and linked', () => {
  it('gets no secret: its management scopes may be given back', async () => {
    const given = await server.prepare();
    const admin = (...asked: Request) => server.send(asked, APPLICATION_SCOPES);
    const scopes = ['openid', 'tenant:write'];
    const made = await admin('POST', applications, { name: 'x', scopes });
    const place = `${applications}/${made.body.id}`;
    expect((await admin('PATCH', place, { scopes: ['openid'], agent_id: given.agentId })).status).toBe(200);
    const thief = ['applications:write', 'agents:impersonate', 'openid'];
    expectRefusal(await server.send(['POST', `${place}/secrets`], thief), 'tenant:write');
    expect((await server.send(['POST', `${place}/secrets`], [...thief, 'tenant:write'])).status).toBe(201);
  });
});

describe('a key that ends', () => {
  it('ends sooner with agents:write alone, and is prolonged by those who could give a key', async () => {
    const given = await server.prepare();
    const path = `${given.agent}/keys/${given.endingKeyId}/deprecate`;
    const to = (sunset: object): Request => ['POST', path, sunset];
    const before = await server.send(to({ sunset_after_seconds: 500 }), ['agents:write']);
    expect(before.status).toBe(200);
    const same = { sunset_at: before.body.sunset_at };
    expect((await server.send(to(same), ['agents:write'])).status).toBe(200);
    expectRefusal(await server.send(to({}), ['agents:write']), 'openid wallet:sign');
    expectRefusal(await server.send(to({}), allBut('wallet:sign', 'agents:impersonate')), 'wallet:sign');
    expect((await server.send(to({}), ['agents:write', ...HELD])).status).toBe(200);
  });
});

describe('an agent', () => {
  it('has all scopes that agents may have unless said, which its maker has to hold', async () => {
    const request = (): Request => ['POST', agents, { name: 'R' }];
    await expectRefused(request, {
      scopes: ['agents:write', ...HELD],
      missing: 'email offline_access profile vault:read',
    });
    expect((await ask(request, ['agents:write', ...AGENT_SCOPES])).status).toBe(201);
  });

  it('is widened by those who hold all that it has then', async () => {
    const request = ({ agent }: Prepared): Request => ['PATCH', agent, { scopes: [...HELD, 'email'] }];
    await expectRefused(request, { scopes: ['agents:write', ...HELD], missing: 'email' });
    await expectRefused(request, { scopes: ['agents:write', 'email'], missing: 'openid wallet:sign' });
    expect((await ask(request, ['agents:write', 'email', ...HELD])).status).toBe(200);
    expect((await ask(request, ['agents:write', 'agents:impersonate'])).status).toBe(200);
  });

  it('is not widened by a change that is refused', async () => {
    const given = await server.prepare();
    const send = (...asked: Request) => server.send(asked, ['agents:write', 'agents:read']);
    expect((await send('PATCH', given.agent, { scopes: AGENT_SCOPES })).status).toBe(403);
    expect((await send('POST', `${given.agent}/keys`, newKey())).status).toBe(403);
    expect((await send('GET', given.agent)).body.scopes).toEqual(HELD);
    expect((await send('GET', `${given.agent}/keys`)).body.data).toHaveLength(2);
  });

  it('cannot hold agents:impersonate, nor can a client of its own', async () => {
    const all = ['agents:write', 'applications:write', ...AGENT_SCOPES, ...MANAGEMENT_SCOPES];
    const scopes = ['openid', 'agents:impersonate'];
    expect((await ask(() => ['POST', agents, { name: 'R', scopes }], all)).status).toBe(400);
    const link = ({ agentId }: Prepared): Request => [
      'POST',
      applications,
      { name: 'x', scopes, agent_id: agentId },
    ];
    expect((await ask(link, all)).status).toBe(400);
    await expectRefused(() => ['POST', applications, { name: 'x', scopes }], {
      scopes: allBut('agents:impersonate'),
      missing: 'agents:impersonate',
    });
  });
});
