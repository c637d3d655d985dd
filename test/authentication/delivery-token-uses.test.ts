// The token that a delivery carries, as its receiver has it, is nothing but that: wherever the service or a resource
// server takes a token, this one is refused, also when the receiver's origin is an audience there.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuard } from '../../packages/resource-server/src/guard.ts';
import { ASSERTION_TYPE } from '../../src/authentication/tokens/client-method.ts';
import { JWT_BEARER_GRANT, TOKEN_TYPES } from '../../src/authentication/tokens/grant-types.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../src/identity/applications/application.ts';
import { takesToken } from '../../src/platform/http/route.ts';
import { type Party, startTenants, type Tenants } from '../isolation/tenants-server.ts';
import { createApplication, enrollAgent, manage } from '../packages/resource-server/live-service.ts';
import { bearer, outcomeOf } from '../packages/resource-server/requests.ts';
import { basic } from './tokens/accounts.ts';

let tenants: Tenants;
let owner: Party;
let receiver: ReturnType<typeof createServer>;
let origin: string;
let token: string;
let agentId: string;
let agentToken: string;
let exchanger: string;

beforeAll(async () => {
  tenants = await startTenants(undefined, undefined, { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  tenants.startAttempts();
  ({ owner } = tenants);
  const arrived = new Promise<string>((resolve) => {
    receiver = createServer((request, response) => {
      resolve(request.headers.authorization?.replace('Bearer ', '') ?? '');
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const subscription = { url: `${origin}/hook`, event_types: ['orders.*'], signatures: ['v1', 'jwt'] };
  await manage(owner, 'POST', '/api/v1/webhooks', subscription);
  const agent = await enrollAgent(owner, { audience: origin });
  agentId = agent.id;
  agentToken = await agent.authenticate();
  const made = await createApplication(owner, { scopes: ['openid'], grant_types: [TOKEN_EXCHANGE_GRANT] });
  exchanger = basic(made.clientId, made.clientSecret);
  await manage(owner, 'POST', '/api/v1/events', { type: 'orders.paid', data: {} });
  token = await arrived;
});
afterAll(async () => {
  receiver?.close();
  await tenants?.close();
});

const outcome = ({ status, body }: Awaited<ReturnType<Party['post']>>) => `${status} ${body.error}`;

describe('the token of a delivery', () => {
  it('is not active', async () => {
    for (const hint of ['access_token', 'refresh_token']) {
      const { status, body } = await owner.post('/oauth/introspect', { token, token_type_hint: hint });
      expect([status, body]).toEqual([200, { active: false }]);
    }
  });

  it.each(Object.entries(TOKEN_TYPES))(
    'is no subject and no actor of an exchange, as %s',
    async (_, type) => {
      const exchange = (form: Record<string, string>) =>
        owner.post('/oauth/token', { grant_type: TOKEN_EXCHANGE_GRANT, scope: 'openid', ...form }, exchanger);
      const own = { token: agentToken, type: TOKEN_TYPES.accessToken };
      for (const [subject, actor] of [
        [{ token, type }, own],
        [own, { token, type }],
        [
          { token, type },
          { token, type },
        ],
      ] as const)
        expect(
          outcome(
            await exchange({
              subject_token: subject.token,
              subject_token_type: subject.type,
              actor_token: actor.token,
              actor_token_type: actor.type,
            }),
          ),
        ).toMatch(/^400 invalid_(grant|request)$/);
    },
  );

  it('authenticates no client, is no assertion of a workload and refreshes nothing', async () => {
    const asked = (form: Record<string, string>) => owner.post('/oauth/token', form, '').then(outcome);
    const assertion = { client_assertion_type: ASSERTION_TYPE, client_assertion: token };
    expect(await asked({ grant_type: 'client_credentials', ...assertion })).toBe('401 invalid_client');
    expect(await asked({ grant_type: JWT_BEARER_GRANT, assertion: token })).toBe('400 invalid_grant');
    expect(await asked({ grant_type: 'refresh_token', refresh_token: token })).toBe('400 invalid_grant');
  });

  it('opens no route that wants a token', async () => {
    const guarded = tenants.routes.filter(takesToken);
    expect(guarded.length).toBeGreaterThan(80);
    const before = await owner.countChanges();
    const opened: string[] = [];
    for (const { method, path } of guarded) {
      const filled = path.replace(/:\w+/g, agentId);
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      const answer = await owner.send(method, filled, body, token);
      if (answer.status !== 401 || answer.body.error !== 'invalid_token')
        opened.push(`${method} ${path}: ${answer.status} ${answer.text}`);
    }
    expect(opened).toEqual([]);
    expect(await owner.countChanges()).toBe(before);
  });

  it('is refused by the guard of a resource server at the same origin, which takes the agent', async () => {
    const guard = createGuard({
      issuer: owner.credentials.issuer_url,
      audience: origin,
      tenantId: owner.credentials.tenant_id,
    });
    expect(await outcomeOf(guard, bearer(token))).toBe('401 invalid_token');
    expect(await outcomeOf(guard, bearer(agentToken))).toBe('accepted');
  });
});
