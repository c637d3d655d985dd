// The real command line as a process: what an operator sees when a role starts, cannot start, or finds its database
// late.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { makeFormer } from '../../platform/database/former-database.ts';
import { createEmptyDatabase, createTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { takePort } from '../../setup/ports.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';
import { temporaryFolder } from '../local/temporary-folder.ts';
import { OTHER_KEY, prepareRuns } from './role-runs.ts';

const runs = await prepareRuns();
const { test, run } = runs;
afterAll(() => runs.close());

/** Starts an api on a free port. */
async function startApi(variables: Record<string, string> = {}, args: readonly string[] = []) {
  const port = await takePort();
  const started = run(['api', ...args], { PORT: String(port), ...variables });
  onTestFinished(async () => {
    started.child.kill('SIGTERM');
    await started.exited;
  });
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const readiness = async () => (await get('/readyz').catch(() => undefined))?.status;
  return { ...started, get, readiness };
}

/** @returns a port that somebody listens on */
async function occupyPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('a role that cannot start says so in one line', () => {
  it.each<[string, string, Record<string, string>, number, RegExp]>([
    ['api', 'a wrong setting', { NODE_ENV: 'banana' }, 2, /^countersign: NODE_ENV: must be one of /],
    [
      'api',
      'no database',
      { DATABASE_URL: '', MASTER_KEY: '' },
      2,
      /^countersign: DATABASE_URL: is required/,
    ],
    [
      'api',
      'another key',
      { MASTER_KEY: OTHER_KEY },
      2,
      /^countersign: MASTER_KEY: does not fit this database/,
    ],
    [
      'worker',
      'another key',
      { MASTER_KEY: OTHER_KEY },
      2,
      /^countersign: MASTER_KEY: does not fit this database/,
    ],
    [
      'api',
      'no folder for a key',
      { MASTER_KEY: '', DATA_DIR: '/dev/null/x' },
      2,
      /^countersign: MASTER_KEY: is not set, and none can be kept/,
    ],
    [
      'api',
      'a moved tenant',
      { PUBLIC_URL: 'http://localhost:9999' },
      2,
      /^countersign: PUBLIC_URL: the tenant demo is at /,
    ],
    [
      'migrate',
      'another key',
      { MASTER_KEY: OTHER_KEY },
      2,
      /^countersign: MASTER_KEY: does not fit this database/,
    ],
    [
      'migrate',
      'no Temporal',
      { TEMPORAL_ADDRESS: '127.0.0.1:1' },
      1,
      /^countersign: TEMPORAL_ADDRESS: .*cannot be made ready/,
    ],
  ])('%s: %s', async (role, _why, variables, code, line) => {
    const { exited, output } = run([role], variables);
    expect([await exited, output.stderr]).toEqual([code, expect.stringMatching(line)]);
    expect(output.stderr.trim().split('\n')).toHaveLength(1);
  });

  it.each(['migrate', 'api', 'worker', 'start'])('%s: a database of a version before 0.2.0', async (role) => {
    const old = await createEmptyDatabase();
    onTestFinished(old.drop);
    await makeFormer(old.url);
    const { exited, output } = run([role], { DATABASE_URL: old.url, PORT: String(await takePort()) });
    expect([await exited, output.stderr]).toEqual([
      2,
      expect.stringMatching(
        /^countersign: DATABASE_URL: a version before 0\.2\.0 .*DATA_DIR away; .*upgrade\.md.*\n$/,
      ),
    ]);
    const { rows } = await old.database.query('SELECT slug FROM tenants');
    expect(rows).toEqual([{ slug: 'kept' }]);
  });

  it.each([
    ['api', 'PORT'],
    ['worker', 'METRICS_PORT'],
  ])('%s: a busy %s', async (role, variable) => {
    const { exited, output } = run([role], { [variable]: String(await occupyPort()) });
    expect([await exited, output.stderr]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(`^countersign: Port \\d+ is in use, .* set ${variable} to a free port.\n$`),
      ),
    ]);
  });

  it('a command: another key', async () => {
    const { exited, output } = run(['tenant', 'create', 'acme'], { MASTER_KEY: OTHER_KEY });
    expect([await exited, output.stderr]).toEqual([2, expect.stringContaining('MASTER_KEY: does not fit')]);
    const listed = run(['tenant', 'list', '--json']);
    expect(await listed.exited).toBe(0);
    expect(JSON.parse(listed.output.stdout).map((tenant: { slug: string }) => tenant.slug)).toEqual(['demo']);
  });
});

it('a role and a command take database and master key from files', async () => {
  const folder = temporaryFolder();
  const variables: Record<string, string> = {};
  for (const name of ['DATABASE_URL', 'MASTER_KEY']) {
    variables[name] = '';
    variables[`${name}_FILE`] = join(folder, name);
    writeFileSync(join(folder, name), `${runs.base[name]}\n`);
  }
  const listed = run(['tenant', 'list', '--json'], variables);
  expect([await listed.exited, listed.output.stderr]).toEqual([0, '']);
  const { readiness, dataDir } = await startApi(variables);
  await vi.waitFor(async () => expect(await readiness()).toBe(200), PATIENCE);
  // No key was made, as in development without one.
  expect(existsSync(join(dataDir, 'master.key'))).toBe(false);
});

it('in development several processes make one master key, kept for its owner alone', async () => {
  const own = await createTestDatabase();
  onTestFinished(own.drop);
  const variables = {
    DATABASE_URL: own.url,
    MASTER_KEY: '',
    DATA_DIR: join(temporaryFolder(), 'data'),
  };
  const created = await Promise.all(
    ['one', 'two', 'three'].map((slug) => run(['tenant', 'create', slug], variables).exited),
  );
  expect(created).toEqual([0, 0, 0]);
  const file = join(variables.DATA_DIR, 'master.key');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const key = readFileSync(file, 'utf8');
  expect(Buffer.from(key, 'base64')).toHaveLength(32);
  const api = await startApi({ ...variables, DEFAULT_TENANT: '' });
  await expect.poll(api.readiness).toBe(200);
  expect(readFileSync(file, 'utf8')).toBe(key);
});

it('an api serves and lists the guides of its build', async () => {
  expect(await run(['tenant', 'create', 'reader']).exited).toBe(0);
  const api = await startApi();
  await expect.poll(api.readiness).toBe(200);
  expect(await (await api.get('/llms.txt')).text()).toMatch(/\/docs\/guides\/receiving\.md\): /);
  const guide = await api.get('/t/reader/docs/guides/receiving');
  expect(guide.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(await guide.text()).toContain('six values joined by line feeds');
});

it('a key that is set makes no file', async () => {
  const { exited, dataDir } = run(['tenant', 'list']);
  expect(await exited).toBe(0);
  expect(existsSync(dataDir)).toBe(false);
});

describe('an api whose database is away when it starts', () => {
  it('is not ready until the database is there and fits', async () => {
    const proxy = await createStallingProxy(test.url);
    onTestFinished(proxy.close);
    proxy.stall();
    const api = await startApi({ DATABASE_URL: proxy.url });
    await expect.poll(api.readiness).toBe(503);
    proxy.resume();
    await expect.poll(api.readiness).toBe(200);
  });

  // As the first process of a container, which has no default action for signals.
  it.skipIf(spawnSync('unshare', ['--pid', '--fork', 'true']).status !== 0)(
    'ends by SIGTERM before it has begun',
    async () => {
      const proxy = await createStallingProxy(test.url);
      onTestFinished(proxy.close);
      proxy.stall();
      const env = { ...runs.base, DATABASE_URL: proxy.url, PORT: String(await takePort()) };
      const words = ['--pid', '--fork', '--kill-child', process.execPath, runs.main, 'api'];
      const child = spawn('unshare', words, { env, stdio: 'ignore' });
      const exited = once(child, 'close');
      await vi.waitFor(() => expect(proxy.connections()).toBeGreaterThan(0), PATIENCE);
      const [first = ''] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
      process.kill(Number(first), 'SIGTERM');
      expect((await exited)[0]).toBe(143);
    },
  );

  it.each([
    ['its tenants turn out to be elsewhere', { PUBLIC_URL: 'http://localhost:9999' }, 'PUBLIC_URL'],
    ['its key turns out to be another', { MASTER_KEY: OTHER_KEY }, 'MASTER_KEY'],
  ])('ends when %s', async (_what, variables, variable) => {
    const proxy = await createStallingProxy(test.url);
    onTestFinished(proxy.close);
    proxy.stall();
    const api = await startApi({ DATABASE_URL: proxy.url, ...variables });
    await expect.poll(api.readiness).toBe(503);
    proxy.resume();
    expect(await api.exited).toBe(2);
    expect(api.output.stdout).toContain(`${variable}: `);
  });
});

describe('a worker whose Temporal stops answering', () => {
  it('takes no more deliveries from the moment it is told to stop, whatever else it waits for', async () => {
    const proxy = await createStallingProxy(`http://${inject('temporalAddress')}`);
    onTestFinished(proxy.close);
    const { child, exited } = run(['worker'], { TEMPORAL_ADDRESS: new URL(proxy.url).host });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await exited;
    });
    const countRelays = async () =>
      (
        await test.database.query(
          "SELECT 1 FROM relays WHERE role = 'worker' AND seen_at > now() - interval '5 seconds'",
        )
      ).rowCount;
    // Its other loops begin right after its relay: their first looks hang.
    await vi.waitFor(async () => expect(await countRelays()).toBe(1), { ...PATIENCE, interval: 2 });
    proxy.stall();
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill('SIGTERM');
    await expect
      .poll(async () => (await test.database.query("SELECT 1 FROM relays WHERE role = 'worker'")).rowCount)
      .toBe(0);
  });
});

describe('a role in which an error is not caught', () => {
  it.each([
    ['api', 'uncaughtException', "throw new Error('of a test')"],
    ['api', 'unhandledRejection', "void Promise.reject(new Error('of a test'))"],
    ['worker', 'uncaughtException', "throw new Error('of a test')"],
  ])('%s, %s: ends with one line that says why', async (role, origin, fault) => {
    const program = `process.on("SIGUSR2",()=>{${fault}})`;
    const { child, exited, output } = run([role], {
      PORT: String(await takePort()),
      LOG_FORMAT: 'json',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}`,
    });
    await expect.poll(() => output.stdout).toMatch(/the (API|worker) is ready/);
    child.kill('SIGUSR2');
    expect([await exited, output.stderr]).toEqual([1, '']);
    const last = output.stdout.trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject({ level: 'fatal', role, reason: 'of a test', origin });
  });
});

describe('--json', () => {
  it('makes migrate print one object and nothing else', async () => {
    const { exited, output } = run(['migrate', '--json'], { LOG_FORMAT: 'pretty' });
    expect(await exited).toBe(0);
    expect(JSON.parse(output.stdout)).toEqual({ applied: [], attributes: 'ok' });
    expect(output.stdout.trim().split('\n')).toHaveLength(1);
  });

  it('makes an api log lines of JSON', async () => {
    const api = await startApi({ LOG_FORMAT: 'pretty' }, ['--json']);
    await expect.poll(() => api.output.stdout).toContain('ready');
    for (const line of api.output.stdout.trim().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ level: 'info', role: 'api' });
  });

  it('and --help are known to every role', async () => {
    const started = ['start', 'api', 'worker', 'migrate'].map((role) => run([role, '--help']));
    for (const { exited, output } of started) {
      expect(await exited).toBe(0);
      expect(output.stdout).toMatch(/--json +\S/);
    }
  });
});
