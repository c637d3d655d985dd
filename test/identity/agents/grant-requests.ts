// A server with the routes that write agents and applications, an agent with its applications behind it, and requests
// that ask for a credential, for more, or for less.
import { expect } from 'vitest';
import { operatorContext } from '../../../src/audit/audit.ts';
import { createApplicationRoutes } from '../../../src/identity/applications/application.routes.ts';
import type { Application } from '../../../src/identity/applications/application.service.ts';
import { readApplicationJwks } from '../../../src/identity/applications/application-jwks.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { toJwk } from '../../../src/platform/crypto/public-key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { APPLICATION_SCOPES } from '../../../src/platform/scopes.ts';
import {
  createWorkloadRooms,
  type WorkloadRooms,
} from '../../authentication/workload-issuers/workload-rooms.ts';
import { derivePublicKey, generatePrivateKey } from '../../platform/crypto/sign.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { createTestAgent } from './agent-rooms.ts';

/** The scopes of the agent, and of an application that is linked to none. */
export const HELD = ['openid', 'wallet:sign'] as const;

export const agents = '/api/v1/agents';
export const applications = '/api/v1/applications';
const workloads = '/api/v1/workload-issuers';
const newWorkload = (agentId: string) => ({
  issuer: `https://${newId()}.example`,
  jwks: newJwks(),
  audiences: ['https://id.example'],
  rules: [{ agent_id: agentId, claims: { sub: 'x' } }],
});
const freshKey = () => ({
  algorithm: 'ed25519' as const,
  publicKey: encodeBase64(derivePublicKey('ed25519', generatePrivateKey('ed25519')).raw),
});
export const newKey = () => {
  const { algorithm, publicKey } = freshKey();
  return { algorithm, public_key: publicKey };
};
const newJwks = () => ({ keys: [toJwk(derivePublicKey('ed25519', generatePrivateKey('ed25519')))] });

/** An agent with a key, and three applications: of the agent, of nobody with the same scopes, and a weak one. */
async function prepare(
  rooms: WorkloadRooms,
  operator: () => RequestContext,
  capabilities: readonly string[],
) {
  const { agent, key } = await createTestAgent(rooms, operator(), { scopes: HELD, capabilities });
  await rooms.agents.update(operator(), agent.id, { dpopBoundAccessTokens: true });
  const ending = await rooms.keys.register(operator(), agent.id, freshKey());
  await rooms.keys.deprecate(operator(), agent.id, ending.id, { sunsetAfterSeconds: 600 });
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
    endingKeyId: ending.id,
    workload: `${workloads}/${(await rooms.workloadIssuers.create(operator(), { ...newWorkload(''), audiences: ['https://id.example', 'https://old.example'], rules: [{ agentId: agent.id, claims: { sub: 'x' } }] })).id}`,
    linked: `${applications}/${(await make({ agentId: agent.id, scopes: ['openid'] })).id}`,
    own: `${applications}/${(await make({ jwks: readApplicationJwks(newJwks()) })).id}`,
    weak: `${applications}/${(await make({ scopes: ['openid'] })).id}`,
  };
}
export type Prepared = Awaited<ReturnType<typeof prepare>>;
export type Request = readonly [method: string, path: string, body?: unknown];

/**
 * Requests that put a credential behind an agent with the scopes `HELD`, make it stronger, or change what the check of
 * such requests goes by.
 */
export const OF_AGENTS: readonly [string, string, (given: Prepared) => Request][] = [
  ['createAgent', 'creates it', () => ['POST', agents, { name: 'R', scopes: HELD }]],
  [
    'updateAgent',
    'gives it an audience',
    ({ agent }) => ['PATCH', agent, { audiences: ['https://x.example'] }],
  ],
  ['updateAgent', 'changes its audience', ({ agent }) => ['PATCH', agent, { audience: 'https://x.example' }]],
  ['updateAgent', 'takes a scope from it', ({ agent }) => ['PATCH', agent, { scopes: ['openid'] }]],
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
  [
    'deprecateAgentKey',
    'prolongs a key that ends',
    ({ agent, endingKeyId }) => [
      'POST',
      `${agent}/keys/${endingKeyId}/deprecate`,
      { sunset_after_seconds: 86_400 },
    ],
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
export const OF_APPLICATIONS: readonly [string, string, (given: Prepared) => Request][] = [
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
export const HARMLESS: Readonly<Record<string, (given: Prepared) => Request>> = {
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
export const ENDING = new Set([
  'cancelKeyRotation',
  'checkAnchor',
  'depositDirectorySignature',
  'revokeAnchor',
  'revokeEnrollmentToken',
  'removeApplicationSecret',
]);

export type GrantServer = Awaited<ReturnType<typeof startGrantServer>>;

/** Starts the server. `close` ends it, and removes its database. */
export async function startGrantServer() {
  const opened = await createTestDatabase();
  const rooms = createWorkloadRooms(opened.database);
  await rooms.tenants.create({ slug: 'demo' });
  const tenant = await rooms.tenants.bySlug('demo');
  if (tenant === undefined) throw new Error('the tenant was not made');
  const routes = [...rooms.routes, ...createApplicationRoutes(rooms)];
  const writing = routes.filter(({ scope }) => scope === 'agents:write' || scope === 'applications:write');
  const server = await startTestServer(routes, { database: opened.database, tenants: rooms.tenants });
  return {
    writing,
    /** Makes an agent with these capabilities, and what is behind it. */
    prepare: (capabilities: readonly string[] = []): Promise<Prepared> =>
      prepare(rooms, () => operatorContext(tenant, newId()), capabilities),
    send: ([method, path, body]: Request, scopes: readonly string[]) =>
      server.send(method, path, body, { authorization: `Bearer ${tokenFor('caller', ...scopes)}` }),
    /** Returns the scope of a writing route. */
    scopeOf: (operationId: string): string => {
      const scope = writing.find((route) => route.operationId === operationId)?.scope;
      if (typeof scope !== 'string') throw new Error(`${operationId} is no writing route`);
      return scope;
    },
    close: async () => {
      await server.drain(0);
      await rooms.closeWorkloads();
      await opened.drop();
    },
  };
}

/** Expects a refusal that names the scopes that the token lacks. */
export function expectRefusal(answer: Awaited<ReturnType<GrantServer['send']>>, missing: string): void {
  expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope']);
  expect(answer.body.detail).toContain(`lacks ${missing} `);
  expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
}

export const allBut = (...left: readonly string[]) =>
  APPLICATION_SCOPES.filter((scope) => !left.includes(scope));
