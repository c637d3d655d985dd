// A local stack and `npm start` whose parts, or who started them, are killed.
import { existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isAlive } from '../../../src/app/local/processes.ts';
import { query } from './query.ts';
import { cloneWithStub, createStack, keeperOf } from './stack.ts';

describe('a local stack', () => {
  it('starts again each part that is killed, and names only what is up', async () => {
    const stack = await createStack();
    const { child, exited } = await stack.startReady();
    for (const name of ['worker', 'api', 'temporal', 'postgres'] as const) {
      const pid = [stack.read()[name]].flat()[0] ?? 0;
      process.kill(pid, 'SIGKILL');
      const now = () => [stack.read()[name]].flat()[0];
      await expect.poll(now, { timeout: 60_000, message: name }).not.toBe(pid);
      await expect.poll(now, { timeout: 60_000, message: name }).toBeGreaterThan(0);
      expect(isAlive(now() ?? 0)).toBe(true);
    }
    stack.processes();
    expect(await query(stack.read().database_url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    await stack.gone();
  });

  it.skipIf(!existsSync('/dev/full'))(
    'outlives a full disk while a part dies, and says so once',
    async () => {
      const stack = await createStack();
      const { child, exited, output } = await stack.startReady();
      const [pid = 0] = stack.read().worker;
      // What is written to this device meets a full disk.
      for (const name of ['parts.json', 'run.json'])
        symlinkSync('/dev/full', join(stack.dataDir, `${name}.${child.pid}`));
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => stack.read().worker[0] ?? pid, { timeout: 60_000 }).not.toBe(pid);
      stack.processes();
      expect(output().match(/The disk is full/g)).toHaveLength(1);
      child.kill('SIGTERM');
      expect(await exited).toBe(0);
      await stack.gone();
      expect(readdirSync(stack.dataDir).filter((name) => /lock|parts|run/.test(name))).toEqual([]);
    },
  );

  it('ends when its supervisor is killed, also while a request is being answered', async () => {
    const stack = await createStack();
    const { child } = await stack.startReady();
    const slow = fetch(`http://127.0.0.1:${stack.ports.api}/slow`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    child.kill('SIGKILL');
    expect((await slow).status).toBe(200);
    await stack.gone();
    await expect.poll(stack.isUp, { timeout: 60_000 }).toBe(false);
    expect(stack.journal()).toEqual(expect.arrayContaining(['api stopped', 'worker stopped']));
  });

  it('ends the leftovers of a crash that took the keeper too, and starts', async () => {
    const stack = await createStack();
    const { child, exited } = await stack.startReady();
    const left = stack.read();
    process.kill(keeperOf(child), 'SIGKILL');
    child.kill('SIGKILL');
    await exited;
    const next = await stack.startReady();
    expect(next.output()).toMatch(/^Ended what an earlier start left running: .*postgres/);
    for (const pid of [left.temporal, left.postgres, ...left.api, ...left.worker])
      expect(isAlive(pid ?? 0)).toBe(false);
    next.child.kill('SIGTERM');
    expect(await next.exited).toBe(0);
    await stack.gone();
  });
});

describe('npm start', () => {
  it('waits for the one before it, which is still stopping', async () => {
    const stack = await createStack();
    const folder = await cloneWithStub();
    const first = await stack.startReady(['npm', 'start'], folder);
    const before = stack.processes();
    const hold = `${stack.environment.STUB_JOURNAL}.hold`;
    writeFileSync(hold, '');
    first.child.kill('SIGKILL');
    await expect.poll(first.output, { timeout: 60_000 }).toContain('Stopping');
    const second = stack.start(['npm', 'start'], folder);
    await expect.poll(second.output, { timeout: 60_000 }).toContain('Waiting for the instance before');
    rmSync(hold);
    await expect.poll(second.output, { timeout: 60_000 }).toContain('Countersign is ready');
    stack.processes();
    expect(before.filter(isAlive)).toEqual([]);
    second.child.kill('SIGTERM');
    await stack.gone();
  });

  it('ends everything in order when npm is killed', async () => {
    const stack = await createStack();
    const { child } = await stack.startReady(['npm', 'start'], await cloneWithStub());
    child.kill('SIGKILL');
    await stack.gone();
    expect(stack.journal().at(-1)).toBe('worker stopped');
    await expect.poll(stack.isUp, { timeout: 60_000 }).toBe(false);
  });
});
