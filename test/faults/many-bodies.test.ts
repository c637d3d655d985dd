// No set of bodies ends a process that has the heap of a container with 512 MiB, and other tenants are answered
// meanwhile.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, accessToken, startApis } from './two-apis.ts';

/** Milliseconds that a process may take to start on a machine that does much else. */
const START = 300_000;
const HEAP = '--max-old-space-size=256';

/** An event of a MB whose emoji makes its text take two bytes a character. */
const BODY = Buffer.from(
  JSON.stringify({ type: 'load.tried', data: { text: `😀${'x'.repeat(1_040_000)}` } }),
);

let stack: Awaited<ReturnType<typeof startApis>>;
let api: Api;
let quiet: { path: string; authorization: string };
const sockets: Socket[] = [];

beforeAll(async () => {
  stack = await startApis((url) => [url], { NODE_OPTIONS: HEAP, NODE_ENV: 'production', LOG_LEVEL: 'fatal' });
  [api] = stack.apis as [Api];
  const made = JSON.parse(await stack.run('tenant', 'create', 'quiet', '--json'));
  const basic = Buffer.from(`${made.client_id}:${made.client_secret}`).toString('base64');
  quiet = { path: new URL(made.issuer_url).pathname, authorization: `Basic ${basic}` };
}, START);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await stack?.close();
});

/** Sends a body without its last byte. @returns what sends that byte, and the status line, if one comes */
function post(token: string) {
  const socket = connect(Number(new URL(api.origin).port), '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  const data = once(socket, 'data').then(([text]) => String(text).split('\r\n', 1)[0]);
  const answer = Promise.race([data, once(socket, 'close').then(() => undefined)]).finally(() =>
    socket.destroy(),
  );
  const written = new Promise((resolve) => {
    socket.write(
      `POST /api/v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n`,
    );
    socket.write(BODY.subarray(0, -1), resolve);
  });
  return {
    answer,
    ready: Promise.race([written, answer.catch(() => undefined)]),
    finish: () => void socket.write('}'),
  };
}

/** MiB that the process had resident at most; 0 where the system does not say it. */
function peakMemory(): number {
  if (process.platform !== 'linux') return 0;
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${api.pid}/status`, 'utf8'));
  return Number(peak?.[1]) / 1024;
}

const getToken = () =>
  api.form(
    `${quiet.path}/oauth/token`,
    { grant_type: 'client_credentials' },
    { authorization: quiet.authorization },
  );

it('400 of a client that come together do not, and another tenant gets its tokens', async () => {
  const token = await accessToken(api, stack.authorization);
  const bodies = Array.from({ length: 400 }, () => post(token));
  await Promise.all(bodies.map(({ ready }) => ready));
  // In each of their rounds of the event loop the process reads what it wants to have of the bodies.
  for (let n = 0; n < 100; n += 1) expect((await getToken()).status).toBe(200);
  for (const { finish } of bodies.slice(0, 300)) finish();
  const answers = await Promise.all(bodies.slice(0, 300).map(({ answer }) => answer));
  expect((await getToken()).status).toBe(200);
  const lines = answers.filter((line) => line !== undefined);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.filter((line) => !/ (201|202|408|413|503) /.test(line))).toEqual([]);
  expect(peakMemory()).toBeLessThan(512);
  // The same client goes on when its bodies have ended.
  for (const socket of sockets) socket.destroy();
  const last = post(token);
  last.finish();
  expect(await last.answer).toMatch(/ (201|202|413) /);
});
