// Sends hostile addresses and URLs to everybody who must refuse them: the route that takes them, the sender that would
// connect to them, the connector below it, and the fetcher of other issuers' keys.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJwksFetcher, JwksError } from '../../../src/authentication/trusted-issuers/jwks.client.ts';
import { createGuardedAgent } from '../../../src/platform/egress/guarded-agent.client.ts';
import { EgressError } from '../../../src/platform/egress/guarded-connection.client.ts';
import { createDeliverySender } from '../../../src/webhooks/deliveries/delivery.client.ts';
import { attemptTo } from '../../webhooks/deliveries/attempt.ts';
import {
  AUTHORITY_FILE,
  type LocalReceiver,
  startSecureReceiver,
} from '../../webhooks/receiver/local-receiver.ts';
import { createWebhookRooms, type WebhookRooms } from '../../webhooks/webhook-rooms.ts';
import { watchClientSockets } from './client-sockets.ts';
import { HOSTILE_ADDRESSES, HOSTILE_NAMES, HOSTILE_URLS } from './hostile-addresses.ts';

const PUBLIC = '8.8.8.8';
const sockets = watchClientSockets();
const agents: { close(): Promise<unknown> }[] = [];

/** An agent that admits nothing, whose DNS answers every name as the test says, and literals as they are. */
function agentWith(answer: (name: string) => string[]) {
  const asked: string[] = [];
  const agent = createGuardedAgent({
    lookup: async (name) => {
      asked.push(name);
      return answer(name);
    },
  });
  agents.push(agent);
  return { agent, asked, sender: createDeliverySender({ agent }) };
}

/** Whether a dispatcher can be asked for the origin at all: what is no URL, or no HTTP, it refuses by itself. */
const isHttp = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

afterAll(async () => {
  for (const agent of agents) await agent.close();
  sockets.stop();
});

it('the tables hold at least fifty addresses, and fifty other forms', () => {
  const urls = new Set(HOSTILE_URLS.map(([url]) => url));
  expect(urls.size).toBe(HOSTILE_URLS.length);
  expect(HOSTILE_ADDRESSES.length).toBeGreaterThanOrEqual(50);
  expect(urls.size - HOSTILE_ADDRESSES.length).toBeGreaterThanOrEqual(50);
});

describe('at creation', () => {
  let rooms: WebhookRooms;
  beforeAll(async () => {
    rooms = await createWebhookRooms({ allowedNetworks: [] });
  });
  afterAll(() => rooms.close());

  const fieldsOf = (body: { errors?: { path: string }[] }) => body.errors?.map(({ path }) => path);

  it.each(HOSTILE_URLS)('%j is refused (%s), with the path of the field', async (url) => {
    const { status, body } = await rooms.send('POST', '/api/v1/webhooks', { url, event_types: ['*'] });
    expect(status).toBe(400);
    expect(body.error).toBe('invalid_request');
    expect(fieldsOf(body)).toEqual(['body.url']);
  });

  it('and by a change, which leaves the subscription as it was', async () => {
    const id = await rooms.subscribe({ url: 'https://example.com/kept' });
    for (const [url] of HOSTILE_URLS) {
      const { status, body } = await rooms.send('PUT', `/api/v1/webhooks/${id}`, { url });
      expect([url, status, fieldsOf(body)]).toEqual([url, 400, ['body.url']]);
    }
    const { body } = await rooms.send('GET', `/api/v1/webhooks/${id}`);
    expect(body.url).toBe('https://example.com/kept');
  });

  it.each(HOSTILE_NAMES)(
    'the name %s is taken: where it leads is judged at each connection',
    async (name) => {
      const fields = { url: `https://${name}/`, event_types: ['*'] };
      expect((await rooms.send('POST', '/api/v1/webhooks', fields)).status).toBe(201);
    },
  );
});

describe('at connection', () => {
  let before = 0;
  beforeAll(() => {
    before = sockets.all().length;
  });

  it.each(HOSTILE_URLS)('%j is refused (%s) by the sender, which asks nobody', async (url, refusal) => {
    const { sender, asked } = agentWith(() => [PUBLIC]);
    const result = await sender.send(attemptTo(url));
    expect(result.outcome).toEqual({
      kind: 'retry',
      statusCode: null,
      errorClass: 'blocked_address',
      error: `blocked_address:${refusal}`,
      hold: false,
    });
    expect(asked).toEqual([]);
  });

  it.each(HOSTILE_URLS.filter(([url]) => isHttp(url) && new URL(url).hostname === '127.0.0.1'))(
    '%j is refused by the connector below too, where Node would not have looked the literal up',
    async (url) => {
      const { agent } = agentWith((name) => [name]);
      const { origin } = new URL(url);
      const request = agent.dispatcher.request({ origin, path: '/', method: 'POST' });
      await expect(request).rejects.toMatchObject({
        name: 'EgressError',
        phase: 'address',
        code: 'loopback',
      });
    },
  );

  it.each(HOSTILE_ADDRESSES)('a name that leads to %s is refused (%s)', async (address, block) => {
    const { sender } = agentWith(() => [address]);
    const result = await sender.send(attemptTo('https://receiver.test/'));
    expect(result).toMatchObject({
      outcome: { errorClass: 'blocked_address', error: `blocked_address:${block}` },
      remoteAddress: null,
      phases: { dns_ms: expect.any(Number), connect_ms: null, tls_ms: null, first_byte_ms: null },
    });
  });

  it.each(HOSTILE_ADDRESSES)(
    '%s among good ones refuses them all (%s), in whatever order',
    async (address, block) => {
      for (const answer of [
        [PUBLIC, address],
        [address, PUBLIC],
        [PUBLIC, '2606:4700:4700::1111', address, '1.1.1.1'],
      ]) {
        const { sender } = agentWith(() => answer);
        const { outcome } = await sender.send(attemptTo('https://receiver.test/'));
        expect(outcome).toMatchObject({ errorClass: 'blocked_address', error: `blocked_address:${block}` });
      }
    },
  );

  it.each(HOSTILE_NAMES)('%s is judged by what it resolves to', async (name) => {
    const { sender, asked } = agentWith(() => ['169.254.169.254']);
    const { outcome } = await sender.send(attemptTo(`https://${name}/computeMetadata/v1/`));
    expect(outcome).toMatchObject({ error: 'blocked_address:link_local' });
    expect(asked).toEqual([name]);
  });

  it('no socket was opened for any of them', () => {
    expect(sockets.all().length - before).toBe(0);
  });
});

describe('a name that changes between the check and the connection', () => {
  let receiver: LocalReceiver;
  beforeAll(async () => {
    receiver = await startSecureReceiver((request, response) => {
      request.resume().on('end', () => response.end('ok'));
    });
  });
  afterAll(() => receiver.close());

  it('is resolved once for a connection, which goes to the judged address and to no other', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.66']];
    const agent = createGuardedAgent({
      allowedNetworks: ['127.0.0.1/32'],
      caFile: AUTHORITY_FILE,
      lookup: async () => answers.shift() ?? [],
    });
    agents.push(agent);
    const sender = createDeliverySender({ agent });
    const url = `https://receiver.test:${receiver.port}/`;
    const first = await sender.send(attemptTo(url));
    expect(first).toMatchObject({ outcome: { kind: 'delivered' }, remoteAddress: '127.0.0.1' });
    expect(answers).toEqual([['127.0.0.66']]);
    // A connection takes its next request in a later turn of the event loop.
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const again = await sender.send(attemptTo(url));
    expect(again).toMatchObject({ outcome: { kind: 'delivered' }, remoteAddress: '127.0.0.1' });
    expect(answers, 'a kept connection stays where it was judged').toEqual([['127.0.0.66']]);
    expect(sockets.to(receiver.port).map(({ remoteAddress }) => remoteAddress)).toEqual(['127.0.0.1']);
    const [kept] = sockets.to(receiver.port);
    kept?.destroy();
    await new Promise((resolve) => kept?.once('close', resolve));
    const moved = await sender.send(attemptTo(url));
    expect(moved.outcome).toMatchObject({ error: 'blocked_address:loopback' });
    expect(receiver.connections()).toBe(1);
  });
});

describe("the keys of another issuer's", () => {
  const failureOf = async (work: Promise<unknown>): Promise<JwksError> => {
    const error: unknown = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof JwksError)) throw new Error(`not a JwksError: ${String(error)}`);
    return error;
  };

  it('are fetched from none of the hostile URLs', async () => {
    const { agent, asked } = agentWith(() => [PUBLIC]);
    const fetchKeys = createJwksFetcher({ agent });
    for (const [url] of HOSTILE_URLS) {
      expect([url, (await failureOf(fetchKeys(url))).message]).toEqual([
        url,
        expect.stringMatching(/^the address /),
      ]);
    }
    expect(asked).toEqual([]);
  });

  it('nor from a name that leads to a hostile address, alone or among good ones', async () => {
    for (const [address, block] of HOSTILE_ADDRESSES) {
      for (const answer of [[address], [PUBLIC, address]]) {
        const { agent } = agentWith(() => answer);
        const { cause } = await failureOf(createJwksFetcher({ agent })('https://issuer.test/jwks'));
        expect(cause).toBeInstanceOf(EgressError);
        expect(cause).toMatchObject({ phase: 'address', code: block });
      }
    }
  });
});
