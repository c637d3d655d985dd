// The catalogue: complete, and every example as its schema says, by a JSON Schema validator that knows nothing of the
// source.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, describe, expect, it } from 'vitest';
import { CATALOGUE, CATEGORIES } from '../../src/events/catalogue.ts';
import { createEventTypeRoutes } from '../../src/webhooks/intake/event-type.routes.ts';
import { startTestServer, tokenFor } from '../platform/http/test-server.ts';
import { FORMATS } from '../webhooks/intake/fixture.ts';

type Shown = {
  type: string;
  category: string;
  description: string;
  reserved: boolean;
  schema: Record<string, unknown>;
  data_schema: Record<string, unknown>;
  example: { type: string; data: Record<string, unknown> };
};

const server = await startTestServer(
  createEventTypeRoutes({ contract: { describe: () => Promise.reject(new Error('not asked for')) } }),
);
afterAll(() => server.drain(0));
const get = (path: string) =>
  server.send('GET', path, undefined, { authorization: `Bearer ${tokenFor('app', 'webhooks:read')}` });

const ajv = new Ajv2020({ strict: true, allErrors: true, formats: FORMATS, allowUnionTypes: true });

describe('GET /api/v1/event-types', () => {
  it('names every type of the specification, and every one that the service reserves', async () => {
    const { status, body } = await get('/api/v1/event-types');
    expect([status, body.next_cursor]).toEqual([200, null]);
    const types = body.data.map(({ type }: Shown) => type);
    expect(types).toEqual(expect.arrayContaining(SPECIFIED));
    expect(types).toEqual(CATALOGUE.map(({ type }) => type));
    expect(new Set(types).size).toBe(types.length);
    expect(SPECIFIED).toHaveLength(47);
  });

  it('takes a category, and whether types are reserved', async () => {
    const listed = async (query: string): Promise<Shown[]> =>
      (await get(`/api/v1/event-types?${query}`)).body.data;
    const security = await listed('category=Security');
    expect(security.map(({ type }) => type)).toEqual([
      'security.brute_force.detected',
      'security.refresh_token.reuse',
      'security.suspicious_activity',
    ]);
    expect((await listed('reserved=true')).every(({ reserved }) => reserved)).toBe(true);
    const [own, others] = [await listed('reserved=true'), await listed('reserved=false')];
    expect(own.length + others.length).toBe(CATALOGUE.length);
    expect(own.length).toBeGreaterThan(20);
    expect(await listed('reserved=false&category=Security')).toEqual([]);
    expect((await get('/api/v1/event-types?category=Nonsense')).body.errors[0].path).toBe('query.category');
    expect((await get('/api/v1/event-types?reserved=yes')).status).toBe(400);
    expect(CATEGORIES).toContain('MFA and risk');
  });

  it('gives one type by its name, as the list does', async () => {
    const { body: list } = await get('/api/v1/event-types');
    for (const entry of list.data.slice(0, 5))
      expect((await get(`/api/v1/event-types/${entry.type}`)).body).toEqual(entry);
    for (const unknown of ['orders.order.placed', 'nonsense', 'constructor'])
      expect((await get(`/api/v1/event-types/${unknown}`)).status).toBe(404);
  });
});

describe.each(CATALOGUE.map(({ type }) => type))('%s', (type) => {
  it('has an example that its schemas accept, and schemas that refuse what it is not', async () => {
    const { body } = await get(`/api/v1/event-types/${type}`);
    const { schema, data_schema, example, reserved, description }: Shown = body;
    expect(description).toMatch(/\.$/);
    const acceptsBody = ajv.compile(schema);
    const acceptsData = ajv.compile(data_schema);
    expect(acceptsBody(example), JSON.stringify(acceptsBody.errors)).toBe(true);
    expect(acceptsData(example.data), JSON.stringify(acceptsData.errors)).toBe(true);
    expect(JSON.stringify(body), 'a pattern beside a format').not.toMatch(/"format":"[^"]*","pattern"/);
    expect(acceptsBody({ ...example, type: 'other.type' })).toBe(false);
    expect(acceptsData({ ...example.data, unknown_field: 1 })).toBe(!reserved);
    for (const name of Object.keys(example.data)) {
      const { [name]: value, ...rest } = example.data;
      expect(acceptsData({ ...rest, [name]: { wrong: value } }), name).toBe(false);
      if (!reserved) expect(acceptsData(rest), `without ${name}`).toBe(true);
    }
  });
});

/** The event types in the tables of the specification ("Event types"). */
const SPECIFIED =
  `auth.login.success auth.login.failure auth.logout auth.token.issued auth.token.revoked auth.mfa.challenge auth.mfa.verify
auth.adaptive_mfa.triggered tenant_user.invited tenant_user.activated tenant_user.suspended tenant_user.removed admin.user.created
admin.agent.registered admin.delegation.revoked vault.credential.created vault.grant.revoked vault.credential.accessed wallet.tx.signed
wallet.tx.rejected wallet.budget.exceeded chain.ownership.changed chain.reputation.updated chain.metadata.changed sso.configured
sso.login.success sso.login.failed sso.user.provisioned org.created org.member.added org.member.role_changed commerce.payment.pending
commerce.payment.succeeded commerce.payment.failed commerce.payment.refunded commerce.settlement.created commerce.settlement.held
commerce.settlement.released commerce.dispute.opened commerce.dispute.closed commerce.payout.submitted commerce.payout.paid
commerce.payout.failed commerce.statement.created security.brute_force.detected security.refresh_token.reuse
security.suspicious_activity`.split(/\s+/);
