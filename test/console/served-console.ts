// The console's bundle behind a small server that answers as the service does: for what the pages themselves do.
import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { STANDING } from './served-standing.ts';

const ROOT = join(import.meta.dirname, '../..');
const { buildConsole }: { buildConsole: (source: string, outDir: string) => Promise<void> } = await import(
  join(ROOT, 'scripts/console.mjs')
);

/** As strict as the policy of the service: nothing inline. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'";
const TIME = '2026-01-02T03:04:05.678Z';
export const SECRET = 'a-secret-of-the-test';

const SUBSCRIPTION = {
  id: 'subscription-1',
  url: 'https://receiver.example/hooks',
  event_types: ['**'],
  envelope: 'plain',
  description: null,
  active: true,
  sink: 'standard',
  signatures: ['v1'],
  retry_policy: { delays_seconds: [5] },
  disabled_reason: null,
  secret_overlap_ends_at: null,
  endpoint: {
    state: 'held',
    hold_until: TIME,
    held_by: 'endpoint',
    failing_since: TIME,
    next_probe_at: TIME,
    last_error: 'http:503',
    last_status_code: 503,
    waiting: 3,
  },
  created_at: TIME,
};
const FAILURES = [
  { error: 'http:422', status_code: 422, waiting: 0, failed: 16 },
  { error: 'http:503', status_code: 503, waiting: 3, failed: 0 },
];
const REPLAY = {
  replay_id: 'replay-1',
  subscription_id: SUBSCRIPTION.id,
  status: 'running',
  delivery_status: 'failed',
  since: TIME,
  matched: 16,
  replayed: 4,
  created_at: TIME,
};
const DELIVERY = {
  id: 'delivery-1',
  subscription_id: SUBSCRIPTION.id,
  event_id: 'event-1',
  event_type: 'org.created',
  status: 'retrying',
  attempt_count: 1,
  next_attempt_at: TIME,
  last_status_code: 503,
  last_error: 'http:503',
  created_at: TIME,
  completed_at: null,
  workflow_id: null,
  workflow_url: null,
  workflow_reason: 'not_tried',
};
const ATTEMPT = {
  number: 1,
  started_at: TIME,
  duration_ms: 30,
  phases: { dns_ms: 1, connect_ms: 2, tls_ms: null, first_byte_ms: 20, total_ms: 30 },
  status_code: 503,
  error: 'http:503',
  retry_after_seconds: 40,
  response_excerpt: '<script>document.title = "injected"</script>',
};
const AGENT = {
  id: 'agent-1',
  name: 'invoice-bot',
  description: '<img src=x onerror=alert(1)>',
  capabilities: ['orders:read'],
  status: 'active',
  audience: 'https://api.example',
  audiences: [],
  scopes: ['openid'],
  owner: 'finance@example.com',
  purpose: 'Reconciles invoices',
  metadata: {},
  dpop_bound_access_tokens: false,
  created_at: TIME,
  registration: { complete: true, verified: true },
};
const RECEIPT = {
  id: 'receipt-1',
  cause: 'admin.agent.suspended',
  created_at: TIME,
  completed_at: null,
  status: 'waiting',
  text: '0 of 1 receivers have acknowledged; 1 is held.',
  acknowledged: 0,
  tokens_end_by: TIME,
  receivers: [
    {
      subscription_id: SUBSCRIPTION.id,
      delivery_id: DELIVERY.id,
      kind: 'webhook',
      host: 'receiver.example',
      state: 'held',
      acknowledged_at: null,
      attempts: 0,
      last_error: null,
    },
  ],
};
const ENTRY = {
  id: 'entry-1',
  occurred_at: TIME,
  action: 'agent.created',
  outcome: 'success',
  reason: null,
  actor: { kind: 'application', id: 'client-1' },
  target: { type: 'agent', id: AGENT.id },
  token_id: null,
  address: '127.0.0.1',
  request_id: null,
  data: {},
};
const ISSUER_KEY = {
  kid: 'kid-1',
  algorithm: 'ES256',
  state: 'active',
  published_at: TIME,
  activate_at: TIME,
  retire_at: null,
  remove_at: null,
  revoked_at: null,
};
const KEY = {
  key_id: 'key-1',
  algorithm: 'ed25519',
  fingerprint: 'a'.repeat(64),
  label: null,
  state: 'active',
  verified_at: TIME,
  last_used_at: null,
};
const ROTATION = {
  rotation_id: 'rotation-1',
  agent_id: AGENT.id,
  old_key_id: KEY.key_id,
  new_key_id: 'key-2',
  state: 'waiting_for_switch',
  deadline_at: TIME,
  stalled_at: TIME,
  sunset_at: null,
  ended_at: null,
  workflow_url: 'http://temporal.example/rotation-1',
};
const ENROLLMENT = {
  ...{ id: 'token-1', enrollment_token_id: 'token-1', agent_id: AGENT.id, tenant_id: 'tenant-1' },
  ...{ token: 'enroll_once', enroll_url: 'https://id.example/auth/agent/enroll' },
  ...{ status: 'open', created_at: TIME, expires_at: TIME },
};
const APPLICATION = {
  ...{ id: 'client-2', client_id: 'client-2', name: 'Back office', audience: 'https://api.example' },
  ...{ scopes: ['openid'], grant_types: ['client_credentials'], agent_id: AGENT.id, jwks: null },
  ...{ dpop_bound_access_tokens: false, created_at: TIME },
  secrets: [{ id: 'secret-1', created_at: TIME, expires_at: null }],
};
const ISSUER = { jwks: null, audiences: ['https://id.example'], created_at: TIME };
const STREAM = {
  ...{
    stream_id: 'stream-1',
    events_delivered: ['https://schemas.openid.net/secevent/caep/session-revoked'],
  },
  delivery: { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://receiver.example/events' },
};
const TENANT = {
  ...{ id: 'tenant-1', slug: 'demo', name: 'Demo', audience: 'https://id.example' },
  ...{ signing_algorithm: 'ES256', security_profile: 'none', created_at: TIME },
  retention: { deliveries_days: 7, events_days: 30, audit_addresses_days: null },
  retention_bounds: {
    deliveries_days: { least: 2, most: 30 },
    events_days: { least: 2, most: 30 },
    audit_addresses_days: { least: 1, most: null },
  },
  ...{ base_url: 'https://id.example', issuer_url: 'https://id.example' },
};
const ACCOUNT = { accepted: 5_310, delivered: 5_290, waiting: 3, held: 1, failed: 16, canceled: 0 };
const listOf = (...data: readonly object[]) => ({ data, next_cursor: null });

const HOURS = Array.from({ length: 24 }, (_, n) => new Date(Date.now() - (23 - n) * 3_600_000).toISOString());
const numbers = (n: number) => HOURS.map((_, hour) => n * (hour % 3));

const ANSWERS: Readonly<Record<string, object>> = {
  webhooks: listOf(SUBSCRIPTION),
  'webhooks/subscription-1': { ...SUBSCRIPTION, endpoint: { ...SUBSCRIPTION.endpoint, failures: FAILURES } },
  deliveries: listOf(DELIVERY),
  'deliveries/delivery-1': { ...DELIVERY, payload: { type: 'org.created' }, attempts: [ATTEMPT] },
  'deliveries/delivery-2': {
    ...{ ...DELIVERY, id: 'delivery-2', status: 'failed', next_attempt_at: null, completed_at: TIME },
    ...{ last_status_code: 422, last_error: 'http:422', payload: null, attempts: [] },
  },
  standing: STANDING,
  'delivery-accounts': {
    data: [{ ...ACCOUNT, day: new Date().toISOString().slice(0, 10) }],
  },
  agents: listOf(AGENT, {
    ...{ ...AGENT, id: 'agent-2', name: 'n'.repeat(200) },
    scopes: ['openid', 'orders:read', 'orders:write', 'users:read', 'users:write', 'audit:read'],
  }),
  'agents/agent-1': AGENT,
  'agents/agent-1/keys': listOf(KEY),
  'agents/agent-1/keys/rotations': listOf(ROTATION),
  'agents/agent-1/enrollment-tokens': listOf(ENROLLMENT),
  'agents/agent-1/anchors': listOf(),
  'agents/agent-1/receipts': listOf(RECEIPT),
  'agents/agent-1/receivers': { cause: RECEIPT.cause, receivers: 0 },
  'agents/agent-1/receipts/receipt-2': {
    ...{ ...RECEIPT, id: 'receipt-2', status: 'no_receivers', text: 'Nobody is told.', receivers: [] },
  },
  'agents/agent-1/receipts/receipt-1': RECEIPT,
  delegations: listOf({
    id: 'delegation-1',
    subject: { issuer: 'https://people.example', sub: 'mia', id: 'user-1' },
    scopes: ['openid'],
    audience: null,
    status: 'active',
    expires_at: TIME,
    revoked_at: null,
  }),
  applications: listOf(APPLICATION),
  'applications/client-2': APPLICATION,
  'trusted-issuers': listOf({
    ...{ ...ISSUER, id: 'issuer-2', issuer: 'https://people.example' },
    ...{ jwks_uri: 'https://people.example/jwks', last_fetch: { at: TIME, error: 'no answer (timeout)' } },
  }),
  'ssf/streams': [STREAM],
  'ssf/status': { stream_id: STREAM.stream_id, status: 'paused' },
  tenant: TENANT,
  'workload-issuers': listOf({
    id: 'issuer-1',
    issuer: 'https://ci.example',
    ...{ ...ISSUER, jwks_uri: null, last_fetch: null },
    rules: [
      { agent_id: AGENT.id, claims: { sub: 'repo:acme/*' } },
      { agent_id: 'agent-2', claims: { sub: 'repo:other/*' } },
    ],
  }),
  'audit-logs': listOf(ENTRY),
  'audit-logs/hours': { hours: HOURS, tokens: numbers(7), failures: numbers(1), most: 500 },
  'delivery-hours': {
    hours: HOURS,
    data: [null, 'subscription-1'].map((subscription_id) => ({
      ...{ subscription_id, delivered: numbers(200), failed: numbers(2), canceled: numbers(0) },
      unfinished: numbers(1),
    })),
    counted_at: TIME,
  },
  events: { data: [], next_cursor: 'next', has_more: false },
};

export interface ServedConsole {
  readonly url: string;
  readonly scriptBytes: number;
  /** What was asked of the API: method, path and token. */
  readonly asked: string[];
  /** How often a token was asked for. */
  tokensAsked(): number;
  /** Answers the next request of this path with 503. */
  failOnce(path: string): void;
  /** Lets the tokens given so far end. */
  endTokens(): void;
  /** Lets the session end, and its tokens. */
  endSession(): void;
  close(): void;
}

/** Builds the console and serves it; `issuer-keys` answers that a scope is missing until a token was renewed. */
export async function serveConsole(): Promise<ServedConsole> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-console-'));
  await buildConsole(join(ROOT, 'src/console'), folder);
  const page = readFileSync(join(folder, 'index.html'), 'utf8').replaceAll('%BASE%', '/t/demo');
  const script = page.match(/main-\w+\.js/)?.[0] ?? '';
  const asked: string[] = [];
  let hasSession = false;
  let generation = 1;
  let tokensAsked = 0;
  let replays: readonly object[] = [];
  const failing = new Set<string>();
  const server = createServer(async (request, response) => {
    const answer = (status: number, body?: object, headers = {}): void => {
      const text = body && JSON.stringify(body);
      const etag = text && `"${createHash('sha256').update(text).digest('hex')}"`;
      const isKnown = etag !== undefined && request.headers['if-none-match'] === etag;
      response.writeHead(isKnown ? 304 : status, {
        'content-type': 'application/json',
        ...(etag && request.headers['if-none-match'] && { etag }),
        ...headers,
      });
      response.end(isKnown ? undefined : text);
    };
    const path = new URL(request.url ?? '', 'http://console').pathname.replace(/^\/t\/demo\//, '');
    const readText = async (): Promise<string> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    };
    if (path === 'console/session') {
      const text = await readText();
      hasSession = request.method === 'POST' && (text.includes(SECRET) || text.includes('"code":"good"'));
      const isDone = hasSession || request.method === 'DELETE';
      const refusal = { status: 401, error: 'invalid_client', detail: 'Refused.', request_id: 'request-1' };
      return isDone ? answer(204) : answer(401, refusal);
    }
    if (path === 'console/token') {
      tokensAsked += 1;
      if (!hasSession) return answer(401, {});
      const tenant = { id: 'tenant-1', name: 'Demo', slug: 'demo' };
      const token = { access_token: `token-${generation}`, expires_in: 300, scope: 'agents:read' };
      return answer(200, { ...token, client_id: 'client-1', application: 'Desk', tenant });
    }
    if (path.startsWith('console/assets/')) {
      const type = path.endsWith('.css') ? 'text/css' : 'text/javascript';
      response.writeHead(200, { 'content-type': type });
      return response.end(readFileSync(join(folder, 'assets', basename(path))));
    }
    if (path.startsWith('console')) {
      response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': POLICY });
      return response.end(page);
    }
    const name = path.replace('api/v1/', '');
    asked.push(`${request.method} ${name} ${request.headers.authorization}`);
    if (request.headers.authorization !== `Bearer token-${generation}`) return answer(401, {});
    if (request.method === 'DELETE') return answer(204);
    if (name === 'webhooks/subscription-1/probe') return answer(202, SUBSCRIPTION);
    if (name === 'webhooks/subscription-1/replays') return answer(200, listOf(...replays));
    if (name === 'webhooks/subscription-1/replays/replay-1')
      return answer(200, {
        ...REPLAY,
        outcomes: { delivered: 1, waiting: 2, failed: 1, canceled: 0, unknown: 0 },
      });
    if (name === 'webhooks/subscription-1/replay') {
      const { since, dry_run: isCount } = JSON.parse(await readText());
      const matched = Date.now() - Date.parse(since) > 2 * 3_600_000 ? 16 : 0;
      if (isCount === true) return answer(200, { dry_run: true, matched });
      replays = [REPLAY];
      return answer(202, REPLAY);
    }
    if (request.method === 'PATCH' && name === 'agents/agent-1') return answer(200, AGENT);
    if (request.method === 'POST' && name === 'agents') return answer(201, AGENT);
    if (request.method === 'POST' && name === 'agents/agent-1/enrollment-tokens')
      return answer(201, ENROLLMENT);
    if (name.endsWith('/cancel')) return answer(200, ROTATION);
    if (request.method === 'POST' && name === 'applications/client-2/secrets')
      return answer(201, { ...APPLICATION.secrets[0], client_secret: 'second-secret' });
    if (name === 'agents/agent-1/suspend')
      return answer(200, AGENT, {
        link: '</t/demo/api/v1/agents/agent-1/receipts/receipt-1>; rel="receipt"',
      });
    if (name === 'tenant/issuer-keys' && generation > 1)
      return answer(200, { data: [ISSUER_KEY], next_rotation_at: TIME });
    if (failing.delete(name)) return answer(503, {});
    const body = ANSWERS[name];
    const detail = 'The token lacks the scope tenant:write.';
    return body === undefined
      ? answer(403, { status: 403, error: 'insufficient_scope', detail, request_id: 'request-2' })
      : answer(200, body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/t/demo/console`,
    scriptBytes: readFileSync(join(folder, 'assets', script)).length,
    asked,
    tokensAsked: () => tokensAsked,
    failOnce: (path) => failing.add(path),
    endTokens: () => {
      generation += 1;
    },
    endSession: () => {
      generation += 1;
      hasSession = false;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true });
    },
  };
}
