// The contract of events, as other people's software reads it: the parser of AsyncAPI, and validators of the webhooks'
// schemas.
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE, exampleOf } from '../../src/events/catalogue.ts';
import { componentNameOf, createAsyncApi, describeWebhooks } from '../../src/events/event-contract.ts';
import { runSteps } from '../../src/platform/steps.ts';
import { EventContractService } from '../../src/webhooks/intake/event-contract.service.ts';
import { signDelivery } from '../../src/webhooks/signing/delivery-signature.node.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { createWebhookRooms, type WebhookRooms } from '../webhooks/webhook-rooms.ts';

const TENANT = {
  id: exampleOf(CATALOGUE[0] as (typeof CATALOGUE)[number]).tenant_id,
  slug: 'acme',
  name: 'Acme',
};
const tenant = { ...TENANT, baseUrl: 'https://acme.example.com' };

/** The parser's document; its errors and warnings fail the test. */
async function parse(document: object) {
  const parsed = await new Parser().parse(JSON.stringify(document));
  const found = parsed.diagnostics.filter(({ severity }) => severity <= 1);
  return {
    document: parsed.document,
    found: found.map(({ code, message, path }) => ({ code, message, path })),
  };
}

describe('webhooks in openapi.json', () => {
  const { components, webhooks } = runSteps(describeWebhooks());

  it('are there for every type of the catalogue, each with a name of its own', () => {
    expect(Object.keys(webhooks)).toEqual(CATALOGUE.map(({ type }) => type));
    expect(new Set(Object.keys(components.schemas)).size).toBe(CATALOGUE.length);
  });

  it('accept their own example and refuse that of another type', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const [index, entry] of CATALOGUE.entries()) {
      const validate = ajv.compile(components.schemas[componentNameOf(entry.type)] as object);
      expect(validate(exampleOf(entry)), entry.type).toBe(true);
      const other = CATALOGUE[(index + 1) % CATALOGUE.length] as typeof entry;
      expect(validate(exampleOf(other)), entry.type).toBe(false);
    }
  });
});

describe('what openapi.json says of a signature', () => {
  const { components, tags } = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
    components: { parameters: Record<string, { name: string; required: boolean; description: string }> };
    tags: { name: string; description: string }[];
  };
  const of = (name: string) => components.parameters[name]?.description ?? '';
  const about = tags.find(({ name }) => name === 'Webhooks')?.description ?? '';
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const body = Buffer.from('{"type":"org.created"}');
  const signed = {
    secrets: { current: secret },
    timestamp: 1_767_225_590,
    maxAge: 300,
    deliveryId: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
    eventType: 'org.created',
    body,
  };
  /** The headers that a text names, in its order, without those that hold the signature. */
  const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([name]) => name);

  it.each([
    ['the parameter', of('x-service-signature-256')],
    ['the tag', about.slice(about.indexOf('over six values'), about.indexOf('The key is'))],
  ])('%s names the values in the order in which they are signed', (_, text) => {
    const headers: Readonly<Record<string, string>> = signDelivery(signed);
    const names = namesIn(text.replace('suite,', 'X-Service-Signature-Suite,'), /X-Service-[\w-]+/g);
    expect(names).toHaveLength(5);
    expect(text).toMatch(/raw bytes of the body\W*$/);
    const head = names.map((name) => `${headers[name]}\n`).join('');
    const made = createHmac('sha256', secret).update(head).update(body).digest('hex');
    expect(headers['X-Service-Signature-256']).toBe(`sha256=${made}`);
  });

  it('names the values of Standard Webhooks, and marks as required only what always comes', () => {
    const text = of('webhook-signature');
    expect(namesIn(text, /webhook-(?:id|timestamp)|body/g).slice(0, 3)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'body',
    ]);
    const sent = Object.values(components.parameters).filter(({ name }) =>
      /^(X-Service|webhook)-/.test(name),
    );
    expect(sent.filter(({ required }) => required).map(({ name }) => name)).toEqual([
      'X-Service-Event',
      'X-Service-Delivery',
    ]);
    expect(sent).toHaveLength(10);
  });
});

describe('the AsyncAPI document', () => {
  it('is parsed without an error or a warning, with a message for every type', async () => {
    const { document, found } = await parse(
      createAsyncApi(tenant, ['orders.order.placed', 'shop.cart_left']),
    );
    expect(found).toEqual([]);
    const names = document
      ?.messages()
      .all()
      .map((message) => message.name());
    expect(names).toEqual(expect.arrayContaining([...CATALOGUE.map(({ type }) => type), 'shop.cart_left']));
  });

  it('gives types whose names are the same different components', () => {
    const { components } = createAsyncApi(tenant, ['a.b.c', 'a.b_c']) as { components: { messages: object } };
    expect(Object.keys(components.messages)).toEqual(expect.arrayContaining(['ABCEvent', 'ABCEvent2']));
  });
});

describe('GET /api/v1/asyncapi.json', () => {
  let rooms: WebhookRooms;
  beforeAll(async () => {
    rooms = await createWebhookRooms();
  });
  afterAll(() => rooms.close());

  it("has the tenant's own types as its subscriptions name them, and none of a deleted one", async () => {
    await rooms.subscribe({ event_types: ['shop.cart.left', 'org.created', 'webhook.later'] });
    const gone = await rooms.subscribe({ event_types: ['shop.cart.gone'] });
    await rooms.send('DELETE', `/api/v1/webhooks/${gone}`);
    const { status, body } = await rooms.send('GET', '/api/v1/asyncapi.json');
    expect(status).toBe(200);
    expect(Object.keys(body.channels.subscription.messages)).toHaveLength(CATALOGUE.length + 1);
    expect(body.components.messages.ShopCartLeftEvent).toMatchObject({ name: 'shop.cart.left' });
  });

  it('is made once, and again when the types have changed or the tenant has another name', async () => {
    let own = ['shop.cart.left'];
    const contract = new EventContractService({
      database: { query: () => Promise.reject(new Error('the types are given')) },
      store: { findNamedTypes: async () => own.map((filter) => ({ filter })) },
    });
    const context = await createTenantContext(rooms.database);
    const first = await contract.describe(context);
    expect(await contract.describe({ ...context, requestId: 'another' })).toBe(first);
    own = ['shop.cart.left', 'shop.cart.paid'];
    const second = await contract.describe(context);
    expect(second.digest).not.toBe(first.digest);
    expect(second.text).toContain('shop.cart.paid');
    const renamed = await contract.describe({ ...context, tenant: { ...context.tenant, name: 'Renamed' } });
    expect(renamed.text).toContain('Events of Renamed');
    own = ['shop.cart.left'];
    expect((await contract.describe(context)).digest).toBe(first.digest);
  });

  it('keeps no document of very many types, and not those of all tenants', async () => {
    let own = Array.from({ length: 201 }, (_, n) => `shop.item_${n}.sold`);
    const contract = new EventContractService({
      database: { query: () => Promise.reject(new Error('the types are given')) },
      store: { findNamedTypes: async () => own.map((filter) => ({ filter })) },
    });
    const context = await createTenantContext(rooms.database);
    const of = (n: number) => contract.describe({ ...context, tenant: { ...context.tenant, name: `${n}` } });
    const large = await of(0);
    expect(await of(0)).not.toBe(large);
    own = [];
    const first = await of(0);
    for (let n = 1; n <= 32; n += 1) await of(n);
    expect(await of(0)).not.toBe(first);
    expect(await of(0)).toEqual(first);
  });

  it('is 304 for a client that has it', async () => {
    const ask = (etag = '') =>
      rooms.send('GET', '/api/v1/asyncapi.json', undefined, { 'if-none-match': etag });
    const { headers } = await ask();
    const etag = headers.get('etag') ?? '';
    expect([etag, headers.get('cache-control')]).toEqual([
      expect.stringMatching(/^"[\w-]{43}"$/),
      'private, no-cache',
    ]);
    expect((await ask(etag)).status).toBe(304);
    await rooms.subscribe({ event_types: ['shop.cart.found'] });
    expect((await ask(etag)).status).toBe(200);
  });
});
