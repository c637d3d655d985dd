// Nobody grants more than they hold: every route that writes agents or applications, tried with tokens of all
// strengths.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorContext } from '../../../src/audit/audit.ts';
import { createApplicationRoutes } from '../../../src/identity/applications/application.routes.ts';
import type { Application } from '../../../src/identity/applications/application.service.ts';
import { readApplicationJwks } from '../../../src/identity/applications/application-jwks.ts';
import type { Tenant } from '../../../src/platform/context.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { toJwk } from '../../../src/platform/crypto/public-key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Route } from '../../../src/platform/http/route.ts';
import { AGENT_SCOPES, APPLICATION_SCOPES, MANAGEMENT_SCOPES } from '../../../src/platform/scopes.ts';
import {
  createWorkloadRooms,
  type WorkloadRooms,
} from '../../authentication/workload-issuers/workload-rooms.ts';
import { derivePublicKey, generatePrivateKey } from '../../platform/crypto/sign.ts';
import { startTestServer, type TestServer, tokenFor } from '../../platform/http/test-server.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { createTestAgent } from './agent-rooms.ts';

/** The scopes of the agent, and of an application that is linked to none. */
const HELD = ['openid', 'wallet:sign'] as const;

let rooms: WorkloadRooms;
let server: TestServer;
let tenant: Tenant;
let writing: readonly Route[];
let drop: () => Promise<void>;

beforeAll(async () => {
  const opened = await createTestDatabase();
  rooms = createWorkloadRooms(opened.database);
  await rooms.tenants.create({ slug: 'demo' });
  const found = await rooms.tenants.bySlug('demo');
  if (found === undefined) throw new Error('the tenant was not made');
  tenant = found;
  const routes = [...rooms.routes, ...createApplicationRoutes(rooms)];
  writing = routes.filter(({ scope }) => scope === 'agents:write' || scope === 'applications:write');
  server = await startTestServer(routes, { database: opened.database, tenants: rooms.tenants });
  drop = async () => {
    await server.drain(0);
    await rooms.closeWorkloads();
    await opened.drop();
  };
});
afterAll(() => drop());

const operator = () => operatorContext(tenant, newId());
const agents = '/api/v1/agents';
const applications = '/api/v1/applications';
const workloads = '/api/v1/workload-issuers';
const newWorkload = (agentId: string) => ({
  issuer: `https://${newId()}.example`,
  jwks: newJwks(),
  audiences: ['https://id.example'],
  rules: [{ agent_id: agentId, claims: { sub: 'x' } }],
});
const newKey = () => {
  const publicKey = encodeBase64(derivePublicKey('ed25519', generatePrivateKey('ed25519')).raw);
  return { algorithm: 'ed25519', public_key: publicKey };
};
const newJwks = () => ({ keys: [toJwk(derivePublicKey('ed25519', generatePrivateKey('ed25519')))] });

/** An agent with a key, and three applications: of the agent, of nobody with the same scopes, and a weak one. */
async function prepare() {
  const { agent, key } = await createTestAgent(rooms, operator(), { scopes: HELD });
  await rooms.agents.update(operator(), agent.id, { dpopBoundAccessTokens: true });
  const make = async (more: object): Promise<Application> =>
    (
      await rooms.applications.create(operator(), {
        name: 'Client',
        scopes: HELD,
        dpopBoundAccessTokens: true,
        ...more,
      })
    ).application;
  return {
    agent: `${agents}/${agent.id}`,
    agentId: agent.id,
    keyId: key.id,
    workload: `${workloads}/${(await rooms.workloadIssuers.create(operator(), { ...newWorkload(''), audiences: ['https://id.example', 'https://old.example'], rules: [{ agentId: agent.id, claims: { sub: 'x' } }] })).id}`,
    linked: `${applications}/${(await make({ agentId: agent.id, scopes: ['openid'] })).id}`,
    own: `${applications}/${(await make({ jwks: readApplicationJwks(newJwks()) })).id}`,
    weak: `${applications}/${(await make({ scopes: ['openid'] })).id}`,
  };
}
type Prepared = Awaited<ReturnType<typeof prepare>>;
type Request = readonly [method: string, path: string, body?: unknown];

/**
 * Requests that put a credential behind an agent with the scopes `HELD`, make it stronger, or change what the check of
 * such requests goes by.
 */
const OF_AGENTS: readonly [string, string, (given: Prepared) => Request][] = [
  ['createAgent', 'creates it', () => ['POST', agents, { name: 'R', scopes: HELD }]],
  [
    'updateAgent',
    'gives it an audience',
    ({ agent }) => ['PATCH', agent, { audiences: ['https://x.example'] }],
  ],
  ['updateAgent', 'changes its audience', ({ agent }) => ['PATCH', agent, { audience: 'https://x.example' }]],
  ['updateAgent', 'takes a scope from it', ({ agent }) => ['PATCH', agent, { scopes: ['openid'] }]],
  ['updateAgent', 'gives it a capability', ({ agent }) => ['PATCH', agent, { capabilities: ['pay:all'] }]],
  [
    'updateAgent',
    'waives proofs of a key',
    ({ agent }) => ['PATCH', agent, { dpop_bound_access_tokens: false }],
  ],
  ['registerAgentKey', 'registers a key', ({ agent }) => ['POST', `${agent}/keys`, newKey()]],
  [
    'beginKeyRotation',
    'rotates a key',
    ({ agent, keyId }) => ['POST', `${agent}/keys/rotations`, { old_key_id: keyId, ...newKey() }],
  ],
  ['createEnrollmentToken', 'invites a key', ({ agent }) => ['POST', `${agent}/enrollment-tokens`]],
  [
    'createApplication',
    'links a new application',
    ({ agentId }) => ['POST', applications, { name: 'x', scopes: ['openid'], agent_id: agentId }],
  ],
  ['createWorkloadIssuer', 'maps workloads', ({ agentId }) => ['POST', workloads, newWorkload(agentId)]],
  [
    'updateWorkloadIssuer',
    'maps other workloads',
    ({ workload, agentId }) => ['PATCH', workload, { rules: [{ agent_id: agentId, claims: { sub: 'y' } }] }],
  ],
  ['updateWorkloadIssuer', 'unmaps workloads', ({ workload }) => ['PATCH', workload, { rules: [] }]],
  [
    'updateWorkloadIssuer',
    'changes the keys of its workloads',
    ({ workload }) => ['PATCH', workload, { jwks: newJwks() }],
  ],
  [
    'updateWorkloadIssuer',
    'adds an audience of its workloads',
    ({ workload }) => ['PATCH', workload, { audiences: ['https://id.example', 'https://x.example'] }],
  ],
  ['addApplicationSecret', 'adds a secret', ({ linked }) => ['POST', `${linked}/secrets`]],
  ['updateApplication', 'adds a client key', ({ linked }) => ['PATCH', linked, { jwks: newJwks() }]],
  [
    'updateApplication',
    'gives its application a scope',
    ({ linked }) => ['PATCH', linked, { scopes: ['openid', 'wallet:sign'] }],
  ],
  [
    'updateApplication',
    'gives its application an audience',
    ({ linked }) => ['PATCH', linked, { audience: 'https://x.example' }],
  ],
];

/** Requests that do the same with an application that acts as itself. */
const OF_APPLICATIONS: readonly [string, string, (given: Prepared) => Request][] = [
  ['createApplication', 'creates it', () => ['POST', applications, { name: 'x', scopes: HELD }]],
  ['addApplicationSecret', 'adds a secret', ({ own }) => ['POST', `${own}/secrets`]],
  [
    'updateApplication',
    'waives proofs of a key',
    ({ own }) => ['PATCH', own, { dpop_bound_access_tokens: false }],
  ],
  ['updateApplication', 'adds a client key', ({ own }) => ['PATCH', own, { jwks: newJwks() }]],
  ['updateApplication', 'adds a scope', ({ weak }) => ['PATCH', weak, { scopes: HELD }]],
  ['updateApplication', 'takes a scope away', ({ own }) => ['PATCH', own, { scopes: ['openid'] }]],
  [
    'updateApplication',
    'changes its audience',
    ({ own }) => ['PATCH', own, { audience: 'https://x.example' }],
  ],
  [
    'updateApplication',
    'adds a grant',
    ({ own }) => [
      'PATCH',
      own,
      { grant_types: ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'] },
    ],
  ],
];

/** What else these scopes allow: it gives nobody anything, or takes something away. */
const HARMLESS: Readonly<Record<string, (given: Prepared) => Request>> = {
  deleteAgent: ({ agent }) => ['DELETE', agent],
  suspendAgent: ({ agent }) => ['PATCH', `${agent}/suspend`],
  reactivateAgent: ({ agent }) => ['PATCH', `${agent}/reactivate`],
  updateAgent: ({ agent }) => ['PATCH', agent, { name: 'Android', scopes: HELD.toReversed() }],
  deprecateAgentKey: ({ agent, keyId }) => ['POST', `${agent}/keys/${keyId}/deprecate`, {}],
  revokeAgentKey: ({ agent, keyId }) => ['POST', `${agent}/keys/${keyId}/revoke`, {}],
  createAnchor: ({ agent }) => ['POST', `${agent}/anchors`, { type: 'domain_https', value: 'a.example' }],
  updateWorkloadIssuer: ({ workload }) => ['PATCH', workload, { audiences: ['https://id.example'] }],
  deleteWorkloadIssuer: ({ workload }) => ['DELETE', workload],
  updateApplication: ({ own }) => ['PATCH', own, { name: 'New', jwks: null, grant_types: [] }],
  deleteApplication: ({ own }) => ['DELETE', own],
};

/** Need something that there is not in `prepare`; they end, check or cancel it, or hand in what its key has signed. */
const ENDING = new Set([
  'cancelKeyRotation',
  'checkAnchor',
  'depositDirectorySignature',
  'revokeAnchor',
  'revokeEnrollmentToken',
  'removeApplicationSecret',
]);

const scopeOf = (operationId: string): string => {
  const scope = writing.find((route) => route.operationId === operationId)?.scope;
  if (typeof scope !== 'string') throw new Error(`${operationId} is no writing route`);
  return scope;
};

async function ask(request: (given: Prepared) => Request, scopes: readonly string[]) {
  const [method, path, body] = request(await prepare());
  const headers = { authorization: `Bearer ${tokenFor('caller', ...scopes)}` };
  return server.send(method, path, body, headers);
}

const allBut = (...left: readonly string[]) => APPLICATION_SCOPES.filter((scope) => !left.includes(scope));

async function expectRefusal(
  request: (given: Prepared) => Request,
  { scopes, missing }: { scopes: readonly string[]; missing: string },
) {
  const answer = await ask(request, scopes);
  expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope']);
  expect(answer.body.detail).toContain(`lacks ${missing} of the`);
  expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
}

it('knows every route that writes agents or applications', () => {
  const known = [...OF_AGENTS, ...OF_APPLICATIONS].map(([operationId]) => operationId);
  const all = new Set([...known, ...Object.keys(HARMLESS), ...ENDING]);
  expect([...all].sort()).toEqual(writing.map(({ operationId }) => operationId).sort());
});

describe.each(OF_AGENTS)('%s: a caller that %s, an agent', (operationId, _what, request) => {
  it('needs all scopes of the agent', async () => {
    const scope = scopeOf(operationId);
    expect((await ask(request, [scope, ...HELD])).status).toBeLessThan(300);
    await expectRefusal(request, { scopes: [scope], missing: 'openid wallet:sign' });
    await expectRefusal(request, { scopes: [scope, 'openid'], missing: 'wallet:sign' });
    await expectRefusal(request, {
      scopes: allBut('wallet:sign', 'agents:impersonate'),
      missing: 'wallet:sign',
    });
  });

  it('or agents:impersonate', async () => {
    expect((await ask(request, [scopeOf(operationId), 'agents:impersonate'])).status).toBeLessThan(300);
    const lonely = await ask(request, ['agents:impersonate', ...HELD]);
    expect([lonely.status, lonely.body.error]).toEqual([403, 'insufficient_scope']);
  });
});

describe.each(OF_APPLICATIONS)(
  '%s: a caller that %s, an application of no agent',
  (operationId, _what, request) => {
    it('needs all its scopes, for which agents:impersonate does not stand', async () => {
      const scope = scopeOf(operationId);
      expect((await ask(request, [scope, ...HELD])).status).toBeLessThan(300);
      await expectRefusal(request, { scopes: [scope], missing: 'openid wallet:sign' });
      await expectRefusal(request, { scopes: allBut('wallet:sign'), missing: 'wallet:sign' });
    });
  },
);

it.each(Object.entries(HARMLESS))(
  '%s takes away with the scope of the route alone',
  async (name, request) => {
    expect((await ask(request, [scopeOf(name)])).status).toBeLessThan(300);
  },
);

describe('two clients that lack one of its scopes', () => {
  const all = [...OF_AGENTS, ...OF_APPLICATIONS];
  const firsts: (readonly [string, (given: Prepared) => Request])[] = [
    ...all.map(([id, what, request]) => [`${id}, which ${what}`, request] as const),
    ['updateApplication, which unlinks it', ({ linked }) => ['PATCH', linked, { agent_id: null }]],
    ...Object.entries(HARMLESS),
  ];
  const headers = {
    authorization: `Bearer ${tokenFor('caller', ...allBut('wallet:sign', 'agents:impersonate'))}`,
  };

  it.each(firsts)('get no credential after %s', async (first, request) => {
    const given = await prepare();
    const send = ([method, path, body]: Request) => server.send(method, path, body, headers);
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

describe('an agent', () => {
  it('has all scopes that agents may have unless said, which its maker has to hold', async () => {
    const request = (): Request => ['POST', agents, { name: 'R' }];
    await expectRefusal(request, {
      scopes: ['agents:write', ...HELD],
      missing: 'email offline_access profile vault:read',
    });
    expect((await ask(request, ['agents:write', ...AGENT_SCOPES])).status).toBe(201);
  });

  it('is widened by those who hold all that it has then', async () => {
    const request = ({ agent }: Prepared): Request => ['PATCH', agent, { scopes: [...HELD, 'email'] }];
    await expectRefusal(request, { scopes: ['agents:write', ...HELD], missing: 'email' });
    await expectRefusal(request, { scopes: ['agents:write', 'email'], missing: 'openid wallet:sign' });
    expect((await ask(request, ['agents:write', 'email', ...HELD])).status).toBe(200);
    expect((await ask(request, ['agents:write', 'agents:impersonate'])).status).toBe(200);
  });

  it('is not widened by a change that is refused', async () => {
    const given = await prepare();
    const headers = { authorization: `Bearer ${tokenFor('caller', 'agents:write', 'agents:read')}` };
    expect((await server.send('PATCH', given.agent, { scopes: AGENT_SCOPES }, headers)).status).toBe(403);
    expect((await server.send('POST', `${given.agent}/keys`, newKey(), headers)).status).toBe(403);
    expect((await server.send('GET', given.agent, undefined, headers)).body.scopes).toEqual(HELD);
    expect((await server.send('GET', `${given.agent}/keys`, undefined, headers)).body.data).toHaveLength(1);
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
    await expectRefusal(() => ['POST', applications, { name: 'x', scopes }], {
      scopes: allBut('agents:impersonate'),
      missing: 'agents:impersonate',
    });
  });
});
