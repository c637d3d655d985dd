// Makes rows of each kind in a tenant, over HTTP, and says what a route's path and body need. What it does not know it
// refuses.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { encodeBase64 } from '../../src/platform/crypto/base64.ts';
import { fingerprint, jwkThumbprint } from '../../src/platform/crypto/public-key.ts';
import type { Route } from '../../src/platform/http/route.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../platform/crypto/sign.ts';
import type { Party } from './tenants-server.ts';

let number = 0;
const next = () => ++number;

/** Creates by POST. @returns the named field of the answer */
async function create(party: Party, path: string, body: unknown, field = 'id'): Promise<string> {
  const answer = await party.send('POST', path, body);
  const id: unknown = answer.body[field];
  if (answer.status >= 300 || typeof id !== 'string') throw new Error(`POST ${path}: ${answer.text}`);
  return id;
}

const newAgentBody = () => ({ name: `Robot ${next()}`, scopes: ['openid', 'email'] });
const newAnchorBody = () => ({ type: 'domain_dns', value: `a${next()}.example.com` });
const newWebhookBody = () => ({ url: `https://hook.example/${next()}`, event_types: ['wallet.tx.signed'] });
const newApplicationBody = (agentId: string) => ({
  name: 'Client',
  scopes: ['openid'],
  agent_id: agentId,
});
const newTrustedIssuerBody = () => ({
  issuer: `https://idp-${next()}.example`,
  jwks: {
    keys: [
      { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'a' },
    ],
  },
  audiences: ['https://id.example'],
});
const newWorkloadIssuerBody = (agentId: string) => ({
  ...newTrustedIssuerBody(),
  rules: [{ agent_id: agentId, claims: { sub: 'workload' } }],
});
const newSubject = () => ({ issuer: 'https://idp.example', sub: `user-${next()}` });
const newDelegationBody = (agentId: string) => ({
  subject: newSubject(),
  agent_id: agentId,
  scopes: ['openid'],
  expires_at: new Date(Date.now() + 3_600_000).toISOString(),
});

/** A key pair: what registers it, its fingerprint, and what signs with it (base64). */
export function newKeyPair() {
  const privateKey = generatePrivateKey('ed25519');
  const { raw } = derivePublicKey('ed25519', privateKey);
  const body = { algorithm: 'ed25519', public_key: encodeBase64(raw) };
  const sign = (payload: Uint8Array) => signPayload('ed25519', privateKey, payload);
  const thumbprint = jwkThumbprint({ algorithm: 'ed25519', raw });
  return { body, fingerprint: fingerprint(raw), thumbprint, sign };
}

/** What the owner of a key hands in for the directory at the party's address. */
export function listingOf(party: Party, { thumbprint, sign }: ReturnType<typeof newKeyPair>) {
  const { host } = new URL(party.credentials.base_url);
  const now = Math.floor(Date.now() / 1000);
  const tag = 'http-message-signatures-directory';
  const input = `("@authority";req);created=${now};expires=${now + 60};keyid="${thumbprint}";tag="${tag}"`;
  const base = `"@authority";req: ${host}\n"@signature-params": ${input}`;
  const signature = Buffer.from(sign(new TextEncoder().encode(base)), 'base64').toString('base64');
  return { signature_input: `a=${input}`, signature: `a=:${signature}:` };
}

/** @param path of the rotations of an agent, who gets the key that goes */
const newRotationBody = async (party: Party, path: string) => ({
  ...newKeyPair().body,
  old_key_id: await create(party, path.replace(/\/rotations$/, ''), newKeyPair().body, 'key_id'),
});

/** A row of the collection. @param path of the collection, with the ids of what it belongs to */
type Maker = (party: Party, path: string) => Promise<string>;

const makeWebhook: Maker = (party) => create(party, '/api/v1/webhooks', newWebhookBody());
const makeDelivery = async (party: Party, webhookId?: string) =>
  create(party, `/api/v1/webhooks/${webhookId ?? (await makeWebhook(party, ''))}/test`, {}, 'delivery_id');

/** Published, and in the feed: it waits for transactions of the whole cluster, other test files' among them. */
const makeEvent: Maker = async (party) => {
  const id = await create(party, '/api/v1/events', { type: 'wallet.tx.signed', data: {} }, 'event_id');
  for (let tries = 0; tries < 300; tries += 1) {
    const since = new Date(Date.now() - 600_000).toISOString();
    const feed = await party.send('GET', `/api/v1/events?limit=200&since=${since}`);
    if (feed.text.includes(id)) return id;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the feed does not show ${id}`);
};

/** The next key of the party's issuer: one that has signed nothing, so that its revocation ends no token. */
const makeIssuerKey: Maker = async (party, path) => {
  const { body, text } = await party.send('POST', `${path}/rotate`, {});
  const key = body.data?.find(({ state }: { state: string }) => state === 'published');
  if (key === undefined) throw new Error(`no key is published: ${text}`);
  return key.kid;
};

/** By the name that the collection has in paths. */
const MAKERS: Readonly<Record<string, Maker>> = {
  agents: (party, path) => create(party, path, newAgentBody()),
  keys: (party, path) => create(party, path, newKeyPair().body, 'key_id'),
  rotations: async (party, path) => create(party, path, await newRotationBody(party, path), 'rotation_id'),
  'enrollment-tokens': (party, path) => create(party, path, {}, 'enrollment_token_id'),
  anchors: (party, path) => create(party, path, newAnchorBody(), 'anchor_id'),
  applications: async (party, path) =>
    create(party, path, newApplicationBody(await makeAgent(party)), 'client_id'),
  secrets: (party, path) => create(party, path, undefined),
  delegations: async (party, path) => create(party, path, newDelegationBody(await makeAgent(party))),
  'trusted-issuers': (party, path) => create(party, path, newTrustedIssuerBody()),
  'workload-issuers': async (party, path) =>
    create(party, path, newWorkloadIssuerBody(await makeAgent(party))),
  'issuer-keys': makeIssuerKey,
  webhooks: makeWebhook,
  deliveries: (party, path) => makeDelivery(party, /webhooks\/([^/]+)/.exec(path)?.[1]),
  events: makeEvent,
  streams: (party) => makeStream(party, ''),
  receipts: async (party, path) => {
    await party.send('PATCH', path.replace(/receipts$/, 'suspend'), {});
    return (await party.send('GET', path)).body.data[0].id;
  },
  'event-types': async () => 'auth.token.issued',
  replays: (party, path) =>
    create(party, path.replace(/replays$/, 'replay'), { since: '2026-01-01T00:00:00Z' }, 'replay_id'),
  // A line that is sealed: others have no proof.
  'audit-logs': async (party, path) => (await party.send('GET', `${path}/checkpoints`)).body.data[0].first_id,
};

const makeStream: Maker = (party) => create(party, '/api/v1/ssf/streams', {}, 'stream_id');

async function ofStream(party: Party): Promise<string> {
  return `?stream_id=${await makeStream(party, '')}`;
}

export const makeAgent = (party: Party): Promise<string> => create(party, '/api/v1/agents', newAgentBody());

/** What a path needs behind it, by operationId. */
const QUERIES: Readonly<Record<string, (party: Party) => Promise<string>>> = {
  getAuditConsistencyProof: async () => '?from=1',
  countAuditHours: async () => '?actor_id=agent-1',
  countAgentReceivers: async () => '?cause=admin.agent.suspended',
  getSecurityStreams: ofStream,
  deleteSecurityStream: ofStream,
  getSecurityStreamStatus: ofStream,
};

/** Whether the query of a route names a row. */
export const namesRowInQuery = ({ operationId }: Pick<Route, 'operationId'>): boolean =>
  QUERIES[operationId] === ofStream;

/** Bodies by operationId; those that name rows name the party's. */
const BODIES: Readonly<Record<string, (party: Party, path: string) => unknown>> = {
  depositDirectorySignature: async (party, path) => {
    const key = newKeyPair();
    await create(party, path.replace(/directory-signature$/, 'keys'), key.body, 'key_id');
    return listingOf(party, key);
  },
  updateTenant: () => ({ name: 'Renamed' }),
  probeWebhook: async (party, path) => {
    const id = /webhooks\/([^/]+)/.exec(path)?.[1] ?? '';
    await makeDelivery(party, id);
    await party.holdEndpoint(id);
    return {};
  },
  rotateIssuerKeys: () => ({ reason: `test ${next()}` }),
  revokeIssuerKey: () => ({ reason: 'test' }),
  createApplication: async (party) => newApplicationBody(await makeAgent(party)),
  updateApplication: async (party) => ({ agent_id: await makeAgent(party) }),
  addApplicationSecret: () => ({}),
  createAgent: newAgentBody,
  updateAgent: () => ({ name: 'Android' }),
  suspendAgent: () => ({}),
  reactivateAgent: () => ({}),
  registerAgentKey: () => newKeyPair().body,
  deprecateAgentKey: () => ({ sunset_after_seconds: 60 }),
  revokeAgentKey: () => ({ reason: 'test' }),
  beginKeyRotation: newRotationBody,
  cancelKeyRotation: () => ({ reason: 'test' }),
  createEnrollmentToken: () => ({}),
  createAnchor: newAnchorBody,
  checkAnchor: () => ({}),
  revokeAnchor: () => ({ reason: 'test' }),
  createDelegation: async (party) => newDelegationBody(await makeAgent(party)),
  revokeDelegation: () => ({ reason: 'test' }),
  forgetUser: () => ({ subject: newSubject() }),
  createTrustedIssuer: newTrustedIssuerBody,
  createWorkloadIssuer: async (party) => newWorkloadIssuerBody(await makeAgent(party)),
  updateWorkloadIssuer: () => ({ audiences: ['https://other.example'] }),
  updateTrustedIssuer: () => ({ audiences: ['https://other.example'] }),
  publishEvents: () => ({ type: 'wallet.tx.signed', data: { number: next() } }),
  createWebhook: newWebhookBody,
  updateWebhook: () => ({ description: 'test' }),
  patchWebhook: () => ({ description: 'test' }),
  testWebhook: () => ({}),
  replayWebhook: () => ({ since: '2026-01-01T00:00:00Z' }),
  cancelWebhookReplay: () => ({}),
  cancelWebhookDeliveries: () => ({}),
  rotateWebhookSecret: () => ({ overlap_seconds: 60 }),
  retryWebhookDelivery: () => ({}),
  cancelWebhookDelivery: () => ({}),
  retryDelivery: () => ({}),
  cancelDelivery: () => ({}),
  createSecurityStream: () => ({ description: randomUUID() }),
  updateSecurityStream: async (party) => ({ stream_id: await makeStream(party, ''), description: 'test' }),
  replaceSecurityStream: async (party) => ({
    stream_id: await makeStream(party, ''),
    delivery: { method: 'urn:ietf:rfc:8936' },
  }),
  setSecurityStreamStatus: async (party) => ({ stream_id: await makeStream(party, ''), status: 'paused' }),
  addSecurityStreamSubject: streamSubject,
  removeSecurityStreamSubject: streamSubject,
  verifySecurityStream: async (party) => ({ stream_id: await makeStream(party, '') }),
  pollSecurityEvents: () => ({ returnImmediately: true }),
};

async function streamSubject(party: Party) {
  return {
    stream_id: await makeStream(party, ''),
    subject: { format: 'opaque', id: await makeAgent(party) },
  };
}

/** Collections in the path of a route, outermost first: `['agents', 'keys']`. */
export function collectionsOf({ path }: Pick<Route, 'path'>): string[] {
  return [...path.matchAll(/([^/:]+)\/:\w+/g)].map(([, name]) => name ?? '');
}

/**
 * The route's path with ids of new rows.
 * @param owners whose row stands in each place, outermost first; a row below somebody else's is made below one of its
 *   owner's
 * @param party whose row the query names
 * @throws Error for a collection of which nobody here knows how to make a row
 */
export async function fillPath(
  { path, operationId }: Pick<Route, 'path' | 'operationId'>,
  owners: readonly Party[],
  party: Party | undefined = owners[0],
): Promise<string> {
  const filled: string[] = [];
  const own = new Map<Party, string[]>(owners.map((owner) => [owner, []]));
  let place = -1;
  for (const segment of path.split('/')) {
    if (!segment.startsWith(':')) {
      filled.push(segment);
      for (const ways of own.values()) ways.push(segment);
      continue;
    }
    place += 1;
    const collection = filled.at(-1) ?? '';
    const make = MAKERS[collection];
    if (make === undefined) throw new Error(`how to make a row of ${collection} for ${path} is not known`);
    for (const [owner, ways] of own) {
      const id = await make(owner, ways.join('/'));
      ways.push(id);
      if (owners[place] === owner) filled.push(id);
    }
  }
  const query = QUERIES[operationId];
  if (query === undefined) return filled.join('/');
  if (party === undefined) throw new Error(`whose row the query of ${operationId} names is not known`);
  return filled.join('/') + (await query(party));
}

/** Makes a row of the collection that a route lists, if it is one. @param path the route's, filled */
export async function fillList({ method }: Pick<Route, 'method'>, path: string, party: Party): Promise<void> {
  const make = MAKERS[path.split('/').at(-1) ?? ''];
  if (method === 'GET' && make !== undefined) await make(party, path);
}

/**
 * A valid body of the route that names rows of the party.
 * @param path the route's, filled
 * @throws Error for a route whose body nobody here knows
 */
export async function fillBody(
  { operationId, request }: Route,
  party: Party,
  path: string,
): Promise<unknown> {
  if (request?.body === undefined) return undefined;
  const make = BODIES[operationId];
  if (make === undefined) throw new Error(`what to send to ${operationId} is not known`);
  return make(party, path);
}
