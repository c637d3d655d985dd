// Nobody gives an agent a capability, or gets a credential of an agent that has or has had one, without the scope
// `agents:capabilities`.
import { afterAll, describe, expect, it } from 'vitest';
import {
  agents,
  allBut,
  expectRefusal,
  HARMLESS,
  HELD,
  OF_AGENTS,
  type Prepared,
  type Request,
  startGrantServer,
} from './grant-requests.ts';

const server = await startGrantServer();
afterAll(() => server.close());

/** Replaces the capabilities of the agent. */
const set =
  (...capabilities: string[]) =>
  ({ agent }: Prepared): Request => ['PATCH', agent, { capabilities }];
const POWERS = 'agents:capabilities';
const WRITER = ['agents:write', ...HELD];

const CAPABLE: readonly (readonly [string, () => Promise<Prepared>])[] = [
  ['has a capability', () => server.prepare(['pay:all'])],
  [
    'has had one, which agents:write alone took away',
    async () => {
      const given = await server.prepare(['pay:all', 'orders:read']);
      for (const capabilities of [['pay:all'], []])
        expect((await server.send(set(...capabilities)(given), ['agents:write'])).status).toBe(200);
      return given;
    },
  ],
];

describe.each(CAPABLE)('an agent that %s', (_which, prepare) => {
  const ofAgent = OF_AGENTS.filter(([operationId]) => operationId !== 'createAgent');

  it.each(ofAgent)(
    '%s: %s with agents:capabilities, or agents:impersonate',
    async (operationId, _what, request) => {
      const scopes = [server.scopeOf(operationId), ...HELD];
      expectRefusal(await server.send(request(await prepare()), scopes), POWERS);
      expect((await server.send(request(await prepare()), [...scopes, POWERS])).status).toBeLessThan(300);
      // For an application's own scopes it does not stand.
      const impersonating = [server.scopeOf(operationId), 'agents:impersonate', ...HELD];
      expect((await server.send(request(await prepare()), impersonating)).status).toBeLessThan(300);
    },
  );

  it('is renamed, suspended, reactivated and deleted with agents:write', async () => {
    const given = await prepare();
    for (const name of ['updateAgent', 'suspendAgent', 'reactivateAgent', 'deleteAgent']) {
      const request = HARMLESS[name];
      if (request === undefined) throw new Error(`${name} is not harmless`);
      expect((await server.send(request(given), ['agents:write'])).status).toBeLessThan(300);
    }
  });
});

describe('a capability', () => {
  const GIVEN: readonly [string, (given: Prepared) => Request][] = [
    ['a new agent', () => ['POST', agents, { name: 'R', scopes: HELD, capabilities: ['pay:all'] }]],
    ['an agent that has none', set('pay:all')],
  ];

  it.each(GIVEN)('is given to %s with agents:capabilities alone', async (_who, request) => {
    expectRefusal(await server.send(request(await server.prepare()), WRITER), POWERS);
    expectRefusal(await server.send(request(await server.prepare()), allBut(POWERS)), POWERS);
    expect((await server.send(request(await server.prepare()), [...WRITER, POWERS])).status).toBeLessThan(
      300,
    );
  });

  it('is given by a client that holds the scopes of the agent, too', async () => {
    const answer = await server.send(set('pay:all')(await server.prepare()), ['agents:write', POWERS]);
    expectRefusal(answer, 'openid wallet:sign');
  });

  it('is taken away with agents:write, and given back with agents:capabilities', async () => {
    const given = await server.prepare(['pay:all', 'orders:read']);
    const taken = await server.send(set('orders:read')(given), ['agents:write']);
    expect([taken.status, taken.body.capabilities]).toEqual([200, ['orders:read']]);
    const back = set('orders:read', 'pay:all')(given);
    expectRefusal(await server.send(back, WRITER), POWERS);
    expectRefusal(await server.send(set('other')(given), WRITER), POWERS);
    expect((await server.send(back, [...WRITER, POWERS])).status).toBe(200);
    expect((await server.send(set('pay:all', 'orders:read')(given), ['agents:write'])).status).toBe(200);
  });
});
