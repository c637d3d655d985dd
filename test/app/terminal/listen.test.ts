// `listen`, `trigger` and `token` against the whole interface: what arrives, what is printed, what is left behind.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { verifyDelivery } from '../../../packages/receiver/src/index.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { startService } from './service.ts';

const service = await startService();
afterAll(() => service.close());

const subscriptions = async () => (await service.owner.send('GET', '/api/v1/webhooks')).body.data;

/** A receiver of the user's own, which answers `status`. */
async function startReceiver(status: number) {
  const requests: { method: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push({ method: String(request.method), headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(status, { 'content-type': 'text/plain' }).end('of the receiver');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    requests,
    url: `127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

async function listen(...args: string[]) {
  const command = service.begin(['listen', ...args]);
  await vi.waitFor(() => expect(command.told.join('\n')).toMatch(/secret {2}|Following/), PATIENCE);
  return command;
}

const secretIn = (lines: readonly string[]) => /whsec_\S+/.exec(lines.join('\n'))?.[0] ?? '';

describe('listen', () => {
  it('shows a published event, verified, and removes its subscription at the end', async () => {
    const command = await listen();
    const [subscription] = await subscriptions();
    expect(subscription).toMatchObject({
      event_types: ['*'],
      description: expect.stringMatching(/^countersign listen \(/),
    });
    const { lines } = await service.run(['trigger', 'orders.order.placed', '--data', '{"order":1}']);
    expect(lines).toEqual([expect.stringMatching(/^orders\.order\.placed: event \S+, 1 delivery$/)]);
    await vi.waitFor(() => expect(command.lines).toHaveLength(2), PATIENCE);
    expect(command.lines[0]).toMatch(
      /^\d\d:\d\d:\d\d {2}orders\.order\.placed +attempt 1 {2}verified → 200$/,
    );
    expect(command.lines[1]).toContain('{"order":1}');
    command.end();
    expect((await command.ended).code).toBe(0);
    expect(await subscriptions()).toEqual([]);
  });

  it('forwards with the original headers, and gives the answer back to the service', async () => {
    const receiver = await startReceiver(404);
    const command = await listen('--forward-to', receiver.url, '--event-types', 'shop.*', '--json');
    await service.run(['trigger', 'shop.sold', '--data', '{}']);
    await vi.waitFor(() => expect(command.lines).toHaveLength(1), PATIENCE);
    const shown = JSON.parse(command.lines[0] ?? '');
    expect(shown).toMatchObject({
      event_type: 'shop.sold',
      attempt: 1,
      status: 404,
      refusal: null,
      origin: 'delivery',
    });
    const [request] = receiver.requests;
    if (request === undefined) throw new Error('nothing was forwarded');
    expect(await verifyDelivery({ ...request, secrets: secretIn(command.told) })).toMatchObject({
      ok: true,
      deliveryId: shown.delivery_id,
    });
    const delivery = await vi.waitFor(async () => {
      const { body } = await service.owner.send('GET', `/api/v1/deliveries/${shown.delivery_id}`);
      expect(body.attempts).toHaveLength(1);
      return body;
    }, PATIENCE);
    expect(delivery.attempts[0]).toMatchObject({ status_code: 404, response_excerpt: 'of the receiver' });
    command.end();
    await command.ended;
    await receiver.close();
  });

  it('answers 502 for a receiver that is not there', async () => {
    const receiver = await startReceiver(200);
    await receiver.close();
    const command = await listen('--forward-to', receiver.url, '--event-types', 'shop.away');
    await service.run(['trigger', 'shop.away', '--data', '{}']);
    await vi.waitFor(
      () => expect(command.lines[0]).toContain('→ 502: the receiver did not answer (ECONNREFUSED)'),
      PATIENCE,
    );
    command.end();
    await command.ended;
  });

  it('refuses what the service has not signed', async () => {
    const command = await listen();
    const [{ url }] = await subscriptions();
    const headers = { 'content-type': 'application/json', 'x-service-signature-suite': 'service-webhook-v1' };
    const answer = await fetch(url, { method: 'POST', headers, body: '{}' });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    await vi.waitFor(() => expect(command.lines[0]).toContain('refused: malformed_headers'), PATIENCE);
    command.end();
    await command.ended;
  });

  it('removes what a killed process of this machine has left behind', async () => {
    const first = await listen();
    const [{ id, description }] = await subscriptions();
    // No process has this number: it is above every pid_max.
    const left = description.replace(/process \d+/, 'process 4194999');
    await service.owner.send('PUT', `/api/v1/webhooks/${id}`, { description: left });
    const second = await listen();
    expect((await subscriptions()).map((found: { id: string }) => found.id)).not.toContain(id);
    second.end();
    expect((await second.ended).code).toBe(0);
    first.end();
    // Its subscription is gone already, which is what it wanted.
    expect((await first.ended).code).toBe(0);
  });

  it('follows the feed where the service cannot reach this machine, and signs anew what it forwards', async () => {
    const receiver = await startReceiver(200);
    await service.run(['trigger', 'shop.earlier', '--data', '{"n":1}']);
    const command = await listen(
      '--feed',
      '--since',
      '10m',
      '--forward-to',
      receiver.url,
      '--event-types',
      'shop.earlier',
    );
    await vi.waitFor(() => expect(command.lines).toHaveLength(2), PATIENCE);
    expect(command.lines[0]).toMatch(/shop\.earlier +feed +→ 200$/);
    expect(await subscriptions()).toEqual([]);
    const [request] = receiver.requests;
    if (request === undefined) throw new Error('nothing was forwarded');
    expect((await verifyDelivery({ ...request, secrets: secretIn(command.told) })).ok).toBe(true);
    command.end();
    await command.ended;
    await receiver.close();
  });

  it.each([
    [['--since', 'soon'], '--since: must be a duration'],
    [['--port', '70000'], '--port: 70000 is not a port'],
    [['--forward-to', 'http://'], '--forward-to: http:// is not a URL'],
  ])('refuses %j', async (args, words) => {
    const { told, code } = await service.run(['listen', ...args]);
    expect([code, told.join('\n')]).toEqual([1, expect.stringContaining(words)]);
  });
});

describe('trigger', () => {
  it('publishes the example of a type that publishers may use', async () => {
    const { lines } = await service.run(['trigger', 'wallet.tx.signed', '--json']);
    const { event_id: id } = JSON.parse(lines.join(''));
    const { body } = await service.owner.send('GET', `/api/v1/events/${id}`);
    expect(body.data).toMatchObject({ tx_id: expect.any(String) });
  });

  it('takes data from stdin', async () => {
    const { lines } = await service.run(['trigger', 'shop.sold', '--data', '-', '--json'], {
      input: '{"n":7}',
    });
    const { body } = await service.owner.send('GET', `/api/v1/events/${JSON.parse(lines.join('')).event_id}`);
    expect(body.data).toEqual({ n: 7 });
  });

  it.each([
    ['wallet.tx.sgned', 'Did you mean wallet.tx.signed?'],
    ['auth.token.issued', 'only the service emits it'],
  ])('refuses %s', async (type, words) => {
    const { told, code } = await service.run(['trigger', type]);
    expect([code, told.join('\n')]).toEqual([1, expect.stringContaining(words)]);
  });

  it('sends the example of a reserved type to those who listen, as a test', async () => {
    const command = await listen();
    const [{ id }] = await subscriptions();
    const { lines } = await service.run(['trigger', 'auth.token.issued', '--json']);
    const { test, deliveries } = JSON.parse(lines.join(''));
    expect([test, deliveries]).toEqual([true, [{ subscription_id: id, delivery_id: expect.any(String) }]]);
    command.end();
    await command.ended;
  });

  it.each(['{', '[1]', '{"id":9007199254740993}', '{"id":1e-400}'])('refuses the data %s', async (data) => {
    const { told, code } = await service.run(['trigger', 'shop.sold', '--data', data]);
    expect([code, told[0]]).toEqual([1, expect.stringContaining('--data:')]);
  });
});

describe('token', () => {
  it('prints a token that works', async () => {
    const { lines } = await service.run(['token']);
    const { status } = await service.owner.send('GET', '/api/v1/agents', undefined, lines.join(''));
    expect([lines.length, status]).toEqual([1, 200]);
  });

  it('has the scope that was asked for', async () => {
    const { lines } = await service.run(['token', '--scope', 'events:write', 'agents:read', '--json']);
    expect(JSON.parse(lines.join('')).scope.split(' ').sort()).toEqual(['agents:read', 'events:write']);
  });

  it("prints the service's words when it is refused", async () => {
    const env = { ...service.env, COUNTERSIGN_CLIENT_SECRET: 'wrong' };
    const { lines, told, code } = await service.run(['token'], { env });
    expect([lines, told[0], code]).toEqual([[], expect.stringContaining('invalid_client'), 1]);
  });
});
