// Connects to loopback receivers under invented names, and holds that no other address than a judged one is ever
// reached.
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createGuardedAgent } from '../../../src/platform/egress/guarded-agent.client.ts';
import { attemptTo, holdDeadlines, startLocalSender } from '../../webhooks/deliveries/attempt.ts';
import {
  AUTHORITY_FILE,
  type LocalReceiver,
  startRawReceiver,
  startReceiver,
  startSecureReceiver,
} from '../../webhooks/receiver/local-receiver.ts';
import { watchClientSockets } from './client-sockets.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0)) await part.close();
});

function opened<T extends { close(): Promise<void> }>(part: T): T {
  open.push(part);
  return part;
}

const names: string[] = [];
async function secureReceiver(certificate?: string): Promise<LocalReceiver> {
  names.length = 0;
  const answer: Parameters<typeof startSecureReceiver>[0] = (request, response) => {
    names.push(
      `${(request.socket as TLSSocket).servername || 'no SNI'} ${request.headers.host?.split(':')[0]}`,
    );
    response.end('ok');
  };
  return opened(await startSecureReceiver(answer, certificate));
}

/** One attempt to `host` with the given agent options; the lookup answers with loopback unless told otherwise. */
async function attempt(url: string, options: Parameters<typeof createGuardedAgent>[0] = {}) {
  const { sender } = opened(startLocalSender({ lookup: async () => ['127.0.0.1'], ...options }));
  return sender.send(attemptTo(url));
}

describe('over TLS', () => {
  it('keeps the name in SNI, Host and the certificate, while it connects to the judged address', async () => {
    const { port } = await secureReceiver();
    const result = await attempt(`https://receiver.test:${port}/`, { caFile: AUTHORITY_FILE });
    expect(result.outcome.kind).toBe('delivered');
    expect(result.remoteAddress).toBe('127.0.0.1');
    expect(result.phases.tls_ms).toEqual(expect.any(Number));
    expect(names).toEqual(['receiver.test receiver.test']);
  });

  it('verifies an IP literal by the address in the certificate', async () => {
    const { port } = await secureReceiver();
    const result = await attempt(`https://127.0.0.1:${port}/`, { caFile: AUTHORITY_FILE });
    expect(result.outcome.kind).toBe('delivered');
    expect(names).toEqual(['no SNI 127.0.0.1']);
  });

  it.each([
    [
      'that nobody vouches for',
      'receiver.pem',
      'receiver.test',
      undefined,
      'tls:UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
    ['of another name', 'receiver.pem', 'other.test', AUTHORITY_FILE, 'tls:ERR_TLS_CERT_ALTNAME_INVALID'],
    ['that has expired', 'expired.pem', 'receiver.test', AUTHORITY_FILE, 'tls:CERT_HAS_EXPIRED'],
  ])('refuses a certificate %s', async (_what, certificate, host, caFile, error) => {
    const { port } = await secureReceiver(certificate);
    const result = await attempt(`https://${host}:${port}/`, { caFile });
    expect(result.outcome).toMatchObject({ kind: 'retry', errorClass: 'tls', error });
    expect(names).toEqual([]);
  });

  it('takes any certificate in an admitted network when it is told to', async () => {
    const { port } = await secureReceiver('expired.pem');
    const result = await attempt(`https://other.test:${port}/`, { insecureReceivers: true });
    expect(result.outcome.kind).toBe('delivered');
  });

  it('takes a plain answer to a TLS greeting, and a reset, for a fault of TLS', async () => {
    const plain = opened(await startReceiver((_request, response) => response.end('ok')));
    const reset = opened(
      await startRawReceiver((socket) => socket.once('data', () => socket.resetAndDestroy())),
    );
    for (const { port } of [plain, reset]) {
      const result = await attempt(`https://receiver.test:${port}/`, { caFile: AUTHORITY_FILE });
      expect(result.outcome).toMatchObject({ kind: 'retry', errorClass: 'tls' });
    }
  });
});

describe('an attempt that is over while its connection is being opened', () => {
  it('closes the socket immediately, and tries no other address', async () => {
    const deadlines = holdDeadlines();
    onTestFinished(deadlines.release);
    let ended: Promise<void> | undefined;
    const silent = opened(
      await startRawReceiver((socket) => {
        // The handshake has begun.
        socket.once('data', deadlines.end);
        ended = new Promise((resolve) => socket.once('close', () => resolve()));
      }),
    );
    const { sender } = opened(startLocalSender({ lookup: async () => ['127.0.0.1', '127.0.0.1'] }));
    const url = `https://receiver.test:${silent.port}/`;
    const result = await sender.send(attemptTo(url));
    expect(result.outcome).toMatchObject({ error: 'timeout:tls' });
    await ended;
    expect(silent.connections()).toBe(1);
  });
});

describe('the addresses of a name', () => {
  const bare = () => startReceiver((_request, response) => response.end('ok'));

  it.each([
    [['127.0.0.1'], 'loopback'],
    [['8.8.8.8', '10.0.0.1'], 'private'],
    [['10.0.0.1', '8.8.8.8'], 'private'],
    [['8.8.8.8', '::ffff:169.254.169.254'], 'link_local'],
    [['2606:4700:4700::1111', '::1'], 'loopback'],
    [['8.8.8.8', 'nonsense'], 'not_an_address'],
  ])('%j are refused as %s, and nothing is connected to', async (addresses, reason) => {
    const receiver = opened(await bare());
    const result = await attempt(`https://receiver.test:${receiver.port}/`, {
      allowedNetworks: [],
      lookup: async () => addresses,
    });
    expect(result.outcome).toMatchObject({ kind: 'retry', error: `blocked_address:${reason}` });
    expect(receiver.connections()).toBe(0);
  });

  it('are judged anew for each connection: a name that moves to a blocked address is refused', async () => {
    const { port } = await secureReceiver();
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    const { sender } = opened(
      startLocalSender({
        allowedNetworks: ['127.0.0.1/32'],
        caFile: AUTHORITY_FILE,
        lookup: async () => answers.shift() ?? [],
      }),
    );
    const both = [1, 2].map(() => sender.send(attemptTo(`https://receiver.test:${port}/`)));
    const outcomes = (await Promise.all(both)).map(({ outcome }) => outcome);
    expect(outcomes[0]?.kind).toBe('delivered');
    expect(outcomes[1]).toMatchObject({ error: 'blocked_address:loopback' });
  });

  it('are tried in turn until one takes the connection', async () => {
    const { port } = await secureReceiver();
    const result = await attempt(`https://receiver.test:${port}/`, {
      caFile: AUTHORITY_FILE,
      lookup: async () => ['127.0.0.2', '127.0.0.3', '127.0.0.1'],
    });
    expect(result).toMatchObject({ outcome: { kind: 'delivered' }, remoteAddress: '127.0.0.1' });
  });

  it('are tried of both families in turn, so that the four tried ones have one of each', async () => {
    const { port, close } = await bare();
    await close();
    const sockets = watchClientSockets();
    onTestFinished(sockets.stop);
    const ipv4 = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
    await attempt(`https://receiver.test:${port}/`, { lookup: async () => [...ipv4, '::1'] });
    const tried = ['127.0.0.2', '::1', '127.0.0.3', '127.0.0.4'];
    expect(sockets.all()).toEqual(tried.map((address) => `${address}:${port}`));
  });

  it('are compared with the one really connected to before anything is sent', async () => {
    const received: Buffer[] = [];
    const receiver = opened(
      await startRawReceiver((socket) => socket.on('data', (data) => received.push(data))),
    );
    // What Node's `remoteAddress` reads; that property itself cannot be replaced.
    const peername = Socket.prototype as Socket & { _getpeername(): { address: string } };
    const peer = vi.spyOn(peername, '_getpeername').mockReturnValue({ address: '127.0.0.9' });
    const result = await attempt(`http://127.0.0.1:${receiver.port}/`);
    peer.mockRestore();
    expect(result.outcome).toMatchObject({ error: 'blocked_address:changed' });
    expect(receiver.connections()).toBe(1);
    expect(received).toEqual([]);
  });

  it('that all refuse are a failure to connect', async () => {
    const { port, close } = await bare();
    await close();
    const result = await attempt(`https://receiver.test:${port}/`, {
      lookup: async () => ['127.0.0.1', '127.0.0.2'],
    });
    expect(result.outcome).toMatchObject({ kind: 'retry', error: 'connect:ECONNREFUSED' });
    expect(result.remoteAddress).toBeNull();
  });

  it('that do not exist are a failure of DNS', async () => {
    const none = await attempt('https://receiver.test/', { lookup: async () => [] });
    expect(none.outcome).toMatchObject({ error: 'dns:ENODATA' });
    const failing = await attempt('https://receiver.test/', {
      lookup: async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
    });
    expect(failing.outcome).toMatchObject({ errorClass: 'dns', error: 'dns:ENOTFOUND' });
  });

  it('that are never told end with the deadline of the attempt', async () => {
    const { sender } = opened(startLocalSender({ lookup: () => new Promise(() => {}) }));
    const result = await sender.send(attemptTo('https://receiver.test/', { timeoutMs: 200 }));
    expect(result.outcome).toMatchObject({ error: 'timeout:dns' });
  });
});

describe('without the check at creation', () => {
  it.each([
    ['http://127.0.0.1:PORT/', []],
    ['http://[::ffff:127.0.0.1]:PORT/', ['10.0.0.0/8']],
    ['https://0x7f000001:PORT/', []],
    ['http://localhost:PORT/', []],
  ])('%s is refused by the dispatcher itself, with %j admitted', async (template, allowedNetworks) => {
    const receiver = opened(await startReceiver((_request, response) => response.end('ok')));
    const { dispatcher } = opened(createGuardedAgent({ allowedNetworks }));
    const url = new URL(template.replace('PORT', String(receiver.port)));
    const request = dispatcher.request({ origin: url.origin, path: '/', method: 'GET' });
    await expect(request).rejects.toMatchObject({ name: 'EgressError', phase: 'address', code: 'loopback' });
    expect(receiver.connections()).toBe(0);
  });

  it('plain http to a public address is refused', async () => {
    const { dispatcher } = opened(createGuardedAgent({ lookup: async () => ['8.8.8.8'] }));
    const request = dispatcher.request({ origin: 'http://receiver.test', path: '/', method: 'GET' });
    await expect(request).rejects.toMatchObject({ phase: 'address', code: 'plain_http' });
  });
});
