// A local stack and `npm start`: what they start, say and end, in which order.
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MALLOC_SETTINGS, NODE_FLAGS } from '../../../src/app/local/role-part.ts';
import { query } from './query.ts';
import { cloneWithStub, createStack } from './stack.ts';

/** The files below a folder that other users may read or write, but for programs. */
const openFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('bin'))
    .filter((name) => {
      const found = statSync(join(folder, name), { throwIfNoEntry: false });
      return found?.isFile() === true && (found.mode & 0o077) !== 0;
    });

describe('a local stack', () => {
  it('connects its roles as a user of their own, stops in order, leaves no process and no run.json, and carries on with the same data', async () => {
    const stack = await createStack();
    const first = await stack.startReady();
    const { ports, database_url: url } = stack.read();
    // The journal is of the test.
    expect(openFiles(stack.dataDir)).toEqual(['journal']);
    expect(ports).toMatchObject({
      api: stack.ports.api,
      temporal: stack.ports.temporal,
      temporal_ui: stack.ports.ui,
    });
    const role = await fetch(`http://127.0.0.1:${stack.ports.api}/process`);
    // A token outlives the reading of a page.
    const env = { ...MALLOC_SETTINGS, ACCESS_TOKEN_LIFETIME: '3600' };
    expect(await role.json()).toMatchObject({ env, execArgv: [...NODE_FLAGS] });
    const user = 'SELECT rolname AS name, rolsuper FROM pg_roles WHERE rolname = current_user';
    expect(await query(url, user)).toEqual([{ name: 'countersign_service', rolsuper: false }]);
    await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const slow = fetch(`http://127.0.0.1:${stack.ports.api}/slow`);
    await expect.poll(stack.journal).toContain('slow request');
    first.child.kill('SIGINT');
    expect(await first.exited).toBe(0);
    expect((await slow).status).toBe(200);
    await stack.gone();
    expect(stack.isUp()).toBe(false);
    expect(stack.journal()).toEqual([
      ...['migrate', 'prepare'],
      ...[expect.stringMatching(/ up$/), expect.stringMatching(/ up$/), 'slow request'],
      ...['api stops: SIGTERM', 'api stopped', 'worker stops: SIGTERM', 'worker stopped'],
    ]);

    // As an earlier release made them.
    chmodSync(join(stack.dataDir, 'temporal'), 0o755);
    chmodSync(join(stack.dataDir, 'temporal', 'temporal.db'), 0o644);
    const second = await stack.startReady();
    expect(openFiles(stack.dataDir)).toEqual(['journal']);
    expect(statSync(join(stack.dataDir, 'temporal')).mode & 0o777).toBe(0o700);
    expect(stack.read().database_url).toBe(url);
    expect(await query(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    second.child.kill('SIGTERM');
    expect(await second.exited).toBe(0);
    await stack.gone();
    expect(readdirSync(stack.dataDir).filter((name) => /lock|parts|run/.test(name))).toEqual([]);
  });

  it('ends immediately at a second signal', async () => {
    const stack = await createStack();
    const { child, exited } = await stack.startReady();
    writeFileSync(join(stack.dataDir, 'journal.hold'), '');
    child.kill('SIGINT');
    await expect.poll(stack.journal).toContain('worker stops: SIGTERM');
    // What comes within 300 ms of the first is npm's copy of it.
    await expect.poll(() => child.kill('SIGINT'), { interval: 350 }).toBe(false);
    expect(await exited).toBe(130);
    await stack.gone();
    expect(stack.journal()).not.toContain('worker stopped');
  });

  it('keeps a second instance off its data folder, and takes no data of another version of Postgres', async () => {
    const stack = await createStack();
    const { child, exited } = await stack.startReady();
    const second = stack.start();
    expect(await second.exited).toBe(1);
    expect(second.output()).toBe(
      `Another instance (process ${child.pid}) runs on ${stack.dataDir}: stop it, or set DATA_DIR to another folder.\n`,
    );
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    writeFileSync(join(stack.dataDir, 'postgres', 'PG_VERSION'), '17\n');
    const third = stack.start();
    expect(await third.exited).toBe(1);
    expect(third.output()).toMatch(
      /The data in \S+ are of Postgres 17, and this release brings 18: .*DATA_DIR.*\n$/,
    );
    await stack.gone();
  });

  it.each([
    ['PORT', 'api', 'the API'],
    ['METRICS_PORT', 'metrics', 'the worker'],
    ['TEMPORAL_PORT', 'temporal', 'Temporal'],
    ['TEMPORAL_UI_PORT', 'ui', "Temporal's Web UI"],
  ] as const)(
    'says in one line that the port of %s is busy, and starts nothing',
    async (variable, name, part) => {
      const stack = await createStack();
      const port = stack.ports[name];
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
      onTestFinished(() => void other.close());
      const { exited, output } = stack.start();
      expect(await exited).toBe(1);
      expect(output()).toBe(
        `Port ${port} is in use, and ${part} needs it: stop the other program, or set ${variable} to a free port.\n`,
      );
      expect(existsSync(join(stack.dataDir, 'postgres'))).toBe(false);
    },
  );

  it("says in one line that the port of the API's metrics is busy, and starts nothing", async () => {
    const stack = await createStack();
    const port = stack.ports.metrics + 1;
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { exited, output } = stack.start();
    expect(await exited).toBe(1);
    expect(output()).toBe(
      `Port ${port} is in use, and the API needs it: stop the other program, or set METRICS_PORT to a free port.\n`,
    );
    expect(existsSync(join(stack.dataDir, 'postgres'))).toBe(false);
  });
});

describe('npm start', () => {
  it('ends everything in order when npm is told to end', async () => {
    const stack = await createStack();
    const { child } = await stack.startReady(['npm', 'start'], await cloneWithStub());
    child.kill('SIGTERM');
    await stack.gone();
    expect(stack.journal().at(-1)).toBe('worker stopped');
    await expect.poll(stack.isUp).toBe(false);
  });

  it('takes one Ctrl-C of the terminal, which reaches npm and its script alike, for one', async () => {
    const stack = await createStack();
    const { child, exited } = await stack.startReady(['npm', 'start'], await cloneWithStub());
    process.kill(-Number(child.pid), 'SIGINT');
    await exited;
    await stack.gone();
    expect(stack.journal().slice(-4)).toEqual([
      ...['api stops: SIGTERM', 'api stopped', 'worker stops: SIGTERM', 'worker stopped'],
    ]);
  });
});
