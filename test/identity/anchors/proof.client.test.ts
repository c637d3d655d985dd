// Looking for proofs at domains that mean well, and at those that do not: real HTTPS and DNS servers on loopback.

import { promises as dns } from 'node:dns';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createProofLooker } from '../../../src/identity/anchors/proof.client.ts';
import { createAddressLookup } from '../../../src/platform/egress/address.client.ts';
import { createGuardedAgent } from '../../../src/platform/egress/guarded-agent.client.ts';
import {
  AUTHORITY_FILE,
  startRawReceiver,
  startSecureReceiver,
} from '../../webhooks/receiver/local-receiver.ts';
import { type DnsAnswer, type DnsRecord, startDnsServer } from './dns-server.ts';

const PROOF = 'countersign-anchor=abc_DEF-123';
const DOMAIN = 'receiver.test';
const DEADLINE = 1_500;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.close();
});
const opened = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
  open.push(part);
  return part;
};

/** Looks once at a web server. @param addresses of the domain */
async function lookAt(
  handler: Handler,
  { addresses = ['127.0.0.1'], certificate = 'receiver.pem', trusted = true, value = DOMAIN } = {},
) {
  const { port, connections } = opened(await startSecureReceiver(handler, certificate));
  const names = opened(
    await startDnsServer(({ type }) =>
      type === 'A' ? addresses.map((address) => ({ type: 'A', value: address })) : [],
    ),
  );
  const resolver = new dns.Resolver();
  resolver.setServers([names.address]);
  const agent = opened(
    createGuardedAgent({
      allowedNetworks: ['127.0.0.0/8'],
      caFile: trusted ? AUTHORITY_FILE : undefined,
      lookup: createAddressLookup({ resolver }),
    }),
  );
  const looker = createProofLooker({ agent, httpsPort: port, deadline: DEADLINE });
  return { outcome: await looker.look({ type: 'domain_https', value, proof: PROOF }), connections, looker };
}

const answer =
  (body: string | Buffer, headers: Record<string, string> = {}, status = 200): Handler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(body);
  };

describe('a file', () => {
  it('is asked for at its place, by name, without anything that says more than needed', async () => {
    const seen: Pick<IncomingMessage, 'method' | 'url' | 'headers'>[] = [];
    const { outcome } = await lookAt((request, response) => {
      seen.push(request);
      response.end(PROOF);
    });
    expect(outcome).toBe('found');
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /.well-known/countersign-anchor.txt',
    ]);
    expect(seen[0]?.headers).toMatchObject({ 'accept-encoding': 'identity', connection: 'close' });
    expect(seen[0]?.headers.host).toMatch(/^receiver\.test:\d+$/);
  });

  it.each<[string, string | Buffer]>([
    ['alone', PROOF],
    ['with a line feed', `${PROOF}\n`],
    ['with spaces and a Windows line end', `  ${PROOF}\t\r\n`],
    ['with a byte order mark', `\ufeff${PROOF}\n`],
    ['with more lines behind it', `${PROOF}\nsome remark\n`],
    ['filled up to 4 KiB', `${PROOF}\n${'x'.repeat(4_096 - PROOF.length - 1)}`],
  ])('is the proof %s', async (_how, body) => {
    expect((await lookAt(answer(body))).outcome).toBe('found');
  });

  it('is taken whatever its type', async () => {
    const type = { 'content-type': 'application/octet-stream' };
    expect((await lookAt(answer(PROOF, type))).outcome).toBe('found');
  });

  it.each<[string, string | Buffer]>([
    ['empty', ''],
    ['another', `${PROOF}x`],
    ['in another case', PROOF.toUpperCase()],
    ['with NUL', `${PROOF}\0`],
    ['behind another line', `\n${PROOF}`],
    ['in UTF-16', Buffer.from(PROOF, 'utf16le')],
    ['no text at all', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
    ['a page that mentions it', `<html><body>${PROOF}</body></html>`],
  ])('is not the proof when it is %s', async (_how, body) => {
    expect((await lookAt(answer(body))).outcome).toBe('mismatch');
  });

  it.each<[string, Handler, string | RegExp]>([
    ['redirects', answer('', { location: 'https://receiver.test/other' }, 302), 'http:302'],
    ['has nothing there', answer(PROOF, {}, 404), 'http:404'],
    ['answers without a body', (_q, r) => r.writeHead(204).end(), 'http:204'],
    ['answers with a part', answer(PROOF, { 'content-range': 'bytes 0-1/2' }, 206), 'http:206'],
    ['fails', answer(PROOF, {}, 500), 'http:500'],
    ['sends more than 4 KiB', answer(`${PROOF}\n${'x'.repeat(5_000)}`), 'too_large'],
    ['sends without end', endless, 'too_large'],
    ['compresses', answer(PROOF, { 'content-encoding': 'gzip' }), 'encoded'],
    ['drips', drip, 'timeout:response'],
    ['never answers', () => undefined, 'timeout:response'],
    ['breaks off in the middle', breakOff, /^(reset|protocol):UND_ERR_/],
    ['folds a header', folded, 'protocol:UNEXPECTED_WHITESPACE_AFTER_HEADER_VALUE'],
    ['sends a head without end', endlessHead, 'too_large:UND_ERR_HEADERS_OVERFLOW'],
  ])('is not found at a server that %s', async (_how, handler, outcome) => {
    expect((await lookAt(handler)).outcome).toMatch(outcome);
  });

  it('is not found where the name leads to a private address, also beside a public one, and nothing connects', async () => {
    for (const addresses of [['10.0.0.1'], ['169.254.169.254', '127.0.0.1'], ['127.0.0.1', '192.168.1.1']]) {
      const { outcome, connections } = await lookAt(answer(PROOF), { addresses });
      expect(outcome).toMatch(/^blocked_address:(private|link_local)$/);
      expect(connections()).toBe(0);
    }
  });

  it('is not found where the name leads to a private address at the next look', async () => {
    const addresses = ['127.0.0.1'];
    const { outcome, looker, connections } = await lookAt(answer(PROOF), { addresses });
    addresses.splice(0, 1, '10.0.0.1');
    const second = await looker.look({ type: 'domain_https', value: DOMAIN, proof: PROOF });
    expect([outcome, second, connections()]).toEqual(['found', 'blocked_address:private', 1]);
  });

  it('needs a certificate that somebody vouches for, of this name', async () => {
    expect((await lookAt(answer(PROOF), { trusted: false })).outcome).toMatch(/^tls:/);
    expect((await lookAt(answer(PROOF), { value: 'other.test' })).outcome).toBe(
      'tls:ERR_TLS_CERT_ALTNAME_INVALID',
    );
  });

  it('is not found where nobody speaks TLS, or nobody listens', async () => {
    const plain = opened(await startRawReceiver((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')));
    const agent = opened(
      createGuardedAgent({ allowedNetworks: ['127.0.0.0/8'], lookup: async () => ['127.0.0.1'] }),
    );
    const look = (httpsPort: number) =>
      createProofLooker({ agent, httpsPort, deadline: DEADLINE }).look({
        type: 'domain_https',
        value: DOMAIN,
        proof: PROOF,
      });
    expect(await look(plain.port)).toMatch(/^tls:/);
    await plain.close();
    expect(await look(plain.port)).toBe('connect:ECONNREFUSED');
  });
});

describe('a record', () => {
  async function ask(given: DnsAnswer | ((name: string) => DnsAnswer)) {
    const server = opened(
      await startDnsServer(({ name }) => (typeof given === 'function' ? given(name) : given)),
    );
    const looker = createProofLooker({
      agent: opened(createGuardedAgent()),
      dnsServers: [server.address],
      deadline: DEADLINE,
    });
    const outcome = await looker.look({ type: 'domain_dns', value: 'a.example', proof: PROOF });
    return { outcome, questions: server.questions };
  }
  const txt = (...value: (string | Buffer)[]): DnsRecord => ({ type: 'TXT', value });
  const flood = Array.from({ length: 200 }, (_, n) => txt(`v=spf1 ${n} ${'x'.repeat(200)}`));

  it('is asked for below the domain', async () => {
    const { outcome, questions } = await ask([txt(PROOF)]);
    expect(outcome).toBe('found');
    expect(questions).toEqual([{ name: '_countersign.a.example', type: 'TXT' }]);
  });

  it.each<[string, DnsRecord[]]>([
    ['in several strings', [txt(PROOF.slice(0, 9), PROOF.slice(9))]],
    ['with spaces around it', [txt(` ${PROOF}  `)]],
    ['among others', [txt('v=spf1 -all'), txt(PROOF), txt('')]],
    ['behind a flood of others', [...flood, txt(PROOF)]],
    [
      'where a CNAME leads',
      [
        { type: 'CNAME', value: 'proofs.example.net' },
        { ...txt(PROOF), name: 'proofs.example.net' },
      ],
    ],
  ])('is the proof %s', async (_how, records) => {
    expect((await ask(records)).outcome).toBe('found');
  });

  it.each<[string, DnsAnswer, string | RegExp]>([
    ['says something else', [txt(`${PROOF}x`)], 'mismatch'],
    ['holds NUL', [txt(`${PROOF}\0`)], 'mismatch'],
    ['spreads it over two records', [txt(PROOF.slice(0, 9)), txt(PROOF.slice(9))], 'mismatch'],
    ['is a flood of others', flood, 'mismatch'],
    ['leads nowhere by a CNAME', [{ type: 'CNAME', value: 'proofs.example.net' }], 'dns:ENODATA'],
    ['is empty', [], 'dns:ENODATA'],
    ['does not exist', 3, 'dns:ENOTFOUND'],
    ['cannot be had', 2, 'dns:ESERVFAIL'],
    ['is refused', 5, 'dns:EREFUSED'],
  ])('is not the proof when it %s', async (_how, given, outcome) => {
    expect((await ask(given)).outcome).toMatch(outcome);
  });

  it('is not waited for beyond the deadline', async () => {
    expect((await ask('silence')).outcome).toMatch(/^(timeout:dns|dns:ETIMEOUT)$/);
  });
});

function endless(_request: IncomingMessage, response: ServerResponse): void {
  response.on('error', () => undefined);
  const write = () => {
    if (!response.destroyed) response.write('x'.repeat(1_000), () => setImmediate(write));
  };
  write();
}

function drip(_request: IncomingMessage, response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 50);
  response.on('close', () => clearInterval(timer));
}

function breakOff(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '1000' });
  response.write(`${PROOF}\n`, () => response.destroy());
}

function folded(_request: IncomingMessage, response: ServerResponse): void {
  response.socket?.end('HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n');
}

function endlessHead(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'x-filler': 'x'.repeat(70_000) }).end(PROOF);
}
