// `verify-receiver` and `sign` against receivers that are right and wrong.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifyDelivery } from '../../../packages/receiver/src/index.ts';
import { createProgram, reportFailure } from '../../../src/app/command-line.ts';

const SECRET = 'whsec_of-the-tests-with-many-different-bytes';

async function run(
  args: string[],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
) {
  const lines: string[] = [];
  const told: string[] = [];
  let code = 0;
  const program = createProgram({
    env,
    print: (line) => lines.push(...line.split('\n')),
    tell: (line) => told.push(line),
    fail: (exitCode) => {
      code = exitCode;
    },
    readInput: async () => Buffer.from(input),
  });
  program
    .exitOverride()
    .configureOutput({ writeErr: (text) => told.push(text), writeOut: (text) => lines.push(text) });
  await program.parseAsync(args, { from: 'user' }).catch(async (error: unknown) => {
    code = await reportFailure(error, (line) => told.push(line));
  });
  return { lines, told, code };
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

const careful: RequestListener = async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', headers } = request;
  const verified = await verifyDelivery({ method, headers, body: Buffer.concat(chunks), secrets: SECRET });
  response.writeHead(verified.ok ? 200 : verified.status).end();
};

describe('verify-receiver', () => {
  it('gives a right receiver the full score', async () => {
    const { lines, code } = await run(['verify-receiver', await serve(careful), '--secret', SECRET]);
    expect([lines.filter((line) => line.startsWith('✗')), lines.at(-1), code]).toEqual([
      [],
      '11 of 11: a receiver to rely on.',
      0,
    ]);
  });

  it('tells a receiver that verifies nothing what it accepts', async () => {
    const url = await serve((_, response) => response.writeHead(200).end());
    const { lines, code } = await run(['verify-receiver', url, '--secret', SECRET, '--json']);
    const { score, of, cases } = JSON.parse(lines[0] ?? '');
    expect([score, of, code]).toEqual([3, 11, 1]);
    expect(cases.find((each: { case: string }) => each.case.startsWith('forged'))).toMatchObject({
      ok: false,
      advice: expect.stringContaining('verify the signature'),
    });
  });

  it.each([400, 410, 413, 415, 422])(
    'takes no %i for a refusal, since it ends what comes again after a mend',
    async (status) => {
      const url = await serve((_, response) => response.writeHead(status).end());
      const { lines, code } = await run(['verify-receiver', url, '--secret', SECRET, '--json']);
      const { score, cases } = JSON.parse(lines[0] ?? '');
      expect([score, code]).toEqual([0, 1]);
      for (const name of ['forged', 'another content type', 'stale'])
        expect(cases.find((each: { case: string }) => each.case.startsWith(name)).advice).toMatch(
          new RegExp(`answer 401: .*; ${status} ends the (delivery|subscription)`),
        );
    },
  );

  it('takes a receiver that falls over for no refusal', async () => {
    const url = await serve((_, response) => response.writeHead(500).end());
    const { lines } = await run(['verify-receiver', url, '--json'], { env: { WEBHOOK_SECRET: SECRET } });
    expect(JSON.parse(lines[0] ?? '').score).toBe(0);
  });

  it('says in one line that nothing listens, or that nothing answers', async () => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const { lines, told, code } = await run(['verify-receiver', `127.0.0.1:${port}/`, '--secret', SECRET]);
    expect([lines, told, code]).toEqual([
      [],
      [expect.stringContaining(`Nothing listens at 127.0.0.1:${port}.`)],
      1,
    ]);
    const broken = await serve((request) => request.socket.destroy());
    const silent = await run(['verify-receiver', broken, '--secret', SECRET]);
    expect([silent.lines, silent.told[0]]).toEqual([[], expect.stringContaining('gives no answer (')]);
  });

  it.each([
    [301, 'follows no redirect'],
    [401, 'mostly means another secret'],
    [404, 'nothing is at this path'],
    [405, 'take POST'],
    [500, 'a body parser comes before the verification'],
  ])('advises by the answer %i to a good delivery, and shows what it says', async (status, words) => {
    const url = await serve((_, response) =>
      response.writeHead(status).end('\n  <b>no\u001b[31m luck</b>\nmore'),
    );
    const { lines } = await run(['verify-receiver', url, '--secret', SECRET]);
    expect(lines.slice(0, 3)).toEqual([
      expect.stringContaining(`a good delivery`),
      expect.stringContaining(words),
      '    it says: <b>no [31m luck</b>',
    ]);
  });

  it.each([
    [['https://hooks.example.com/', '--secret', SECRET], '--remote says that it is yours'],
    [['127.0.0.1:1/'], '--secret or WEBHOOK_SECRET is needed'],
  ])('refuses %j', async (args, words) => {
    const { told, code } = await run(['verify-receiver', ...args]);
    expect([code, told[0]]).toEqual([1, expect.stringContaining(words)]);
  });
});

describe('sign', () => {
  it('makes headers that a receiver accepts', async () => {
    const input = '{"type":"shop.sold","data":{}}';
    const { lines } = await run(['sign', '--secret', SECRET, '--json'], { input });
    const headers = new Headers(JSON.parse(lines[0] ?? ''));
    expect(
      await verifyDelivery({ method: 'POST', headers, body: Buffer.from(input), secrets: SECRET }),
    ).toMatchObject({
      ok: true,
      eventType: 'shop.sold',
    });
  });

  it('needs a type', async () => {
    const { told, code } = await run(['sign', '--secret', SECRET], { input: '{}' });
    expect([code, told[0]]).toEqual([1, expect.stringContaining('--type is needed')]);
  });
});

it('master-key generate prints a key of 32 bytes', async () => {
  const { lines } = await run(['master-key', 'generate']);
  expect(Buffer.from(lines[0] ?? '', 'base64')).toHaveLength(32);
});

it.each(['listen', 'trigger'])('%s --help ends with examples of it', async (name) => {
  const { lines } = await run([name, '--help']);
  expect(lines.join('\n')).toMatch(new RegExp(`Examples:\\n(?:  countersign ${name} .*\\n){3}`));
});
