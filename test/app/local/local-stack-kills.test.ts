// A local stack and `npm start` whose parts, or who started them, are killed.
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isAlive } from '../../../src/app/local/processes.ts';
import { cloneWithStub, createStack, keeperOf } from './stack.ts';

describe('a local stack', () => {
  it.each(['Postgres', 'Worker'])('ends in order, with one line, when %s is killed', async (name) => {
    const stack = await createStack();
    const { exited, output } = await stack.startReady();
    const before = output().length;
    const pid = stack.processes()[name] ?? 0;
    process.kill(pid, 'SIGKILL');
    expect(await exited).toBe(1);
    const line = `${name} (process ${pid}) ended unexpectedly: SIGKILL`;
    expect(output().slice(before).split('\n')).toEqual([expect.stringContaining(line), 'Stopped.', '']);
    await stack.gone();
    expect(stack.journal()).toContain('api stopped');
    expect(readdirSync(stack.dataDir).filter((file) => /parts|run/.test(file))).toEqual([]);
  });

  it('ends when its supervisor is killed, also while a request is being answered', async () => {
    const stack = await createStack();
    const { child } = await stack.startReady();
    const slow = fetch(`http://127.0.0.1:${stack.ports.api}/slow`);
    await expect.poll(stack.journal).toContain('slow request');
    child.kill('SIGKILL');
    expect((await slow).status).toBe(200);
    await stack.gone();
    await expect.poll(stack.isUp).toBe(false);
    expect(stack.journal()).toEqual(expect.arrayContaining(['api stopped', 'worker stopped']));
  });

  it('ends the leftovers of a crash that took the keeper too, and starts', async () => {
    const stack = await createStack();
    const { child, exited } = await stack.startReady();
    const left = Object.values(stack.processes());
    process.kill(keeperOf(child), 'SIGKILL');
    child.kill('SIGKILL');
    await exited;
    const next = await stack.startReady();
    expect(next.output()).toMatch(/^Ended what an earlier start left running: .*Postgres/);
    expect(left.filter(isAlive)).toEqual([]);
    next.child.kill('SIGTERM');
    expect(await next.exited).toBe(0);
    await stack.gone();
  });
});

describe('npm start', () => {
  it('ends everything in order when npm is killed', async () => {
    const stack = await createStack();
    const { child } = await stack.startReady(['npm', 'start'], await cloneWithStub());
    child.kill('SIGKILL');
    await stack.gone();
    expect(stack.journal().at(-1)).toBe('worker stopped');
    await expect.poll(stack.isUp).toBe(false);
  });
});
