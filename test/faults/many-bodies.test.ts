// No set of bodies ends a process that has the heap of a container with 512 MiB, and other tenants are answered
// meanwhile.
import { once } from 'node:events';
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

/** @returns the status line; nothing where the connection ended without one */
async function post(token: string, body: Buffer): Promise<string | undefined> {
  const socket = connect(Number(new URL(api.origin).port), '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  socket.write(
    `POST /api/v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n`,
  );
  socket.write(body);
  const [data] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  socket.destroy();
  return Buffer.isBuffer(data) ? String(data).split('\r\n', 1)[0] : undefined;
}

const getToken = () =>
  api.form(
    `${quiet.path}/oauth/token`,
    { grant_type: 'client_credentials' },
    { authorization: quiet.authorization },
  );

it('whole and stalled bodies of a client do not, and another tenant gets its tokens', async () => {
  const token = await accessToken(api, stack.authorization);
  const stalled = Array.from({ length: 200 }, () => post(token, BODY.subarray(0, 100_000)));
  const whole = Array.from({ length: 200 }, () => post(token, BODY));
  let isOver = false;
  const all = Promise.all([...whole, ...stalled]).finally(() => {
    isOver = true;
  });
  let tokens = 0;
  while (!isOver) {
    expect((await getToken()).status).toBe(200);
    tokens += 1;
  }
  expect(tokens).toBeGreaterThan(0);
  const answers = (await all).filter((line) => line !== undefined);
  expect(answers.length).toBeGreaterThan(0);
  expect(answers.filter((line) => !/ (201|202|400|408|413|503) /.test(line))).toEqual([]);
  // The same client goes on when its bodies have ended.
  expect(await post(token, BODY)).toMatch(/ (201|202|413) /);
});
