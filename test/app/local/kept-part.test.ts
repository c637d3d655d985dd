import { describe, expect, it, vi } from 'vitest';
import type { PartExit } from '../../../src/app/local/foreign-part.ts';
import { createKeptPart, type RunningPart } from '../../../src/app/local/kept-part.ts';

/** A part whose processes are made and ended by the test. */
function scripted(backoff = { first: 5, most: 40, healthy: 10_000 }) {
  const processes: { running: RunningPart; die: (description?: string) => void; stopped: boolean }[] = [];
  const changes: (number | null)[] = [];
  const said: string[] = [];
  let refusal: Error | undefined;
  const start = vi.fn(async () => {
    if (refusal) throw refusal;
    let die: (exit: PartExit) => void = () => undefined;
    const exited = new Promise<PartExit>((resolve) => {
      die = resolve;
    });
    const end = (description = 'SIGKILL') => die({ reason: null, description });
    const one = {
      running: { pid: processes.length + 1, exited, stop: async () => stop() },
      die: end,
      stopped: false,
    };
    const stop = () => {
      one.stopped = true;
      end('exit code 0');
    };
    processes.push(one);
    return one.running;
  });
  const part = createKeptPart({
    name: 'the part',
    start,
    onChange: (pid) => changes.push(pid),
    say: (line) => said.push(line),
    backoff,
  });
  const refuse = (error: Error | undefined) => {
    refusal = error;
  };
  return { part, processes, changes, said, start, refuse };
}

describe('a part that is kept running', () => {
  it('is started again when it dies, and is not up in between', async () => {
    const { part, processes, changes, said } = scripted();
    await part.begin();
    processes[0]?.die();
    await vi.waitFor(() => expect(changes).toEqual([1, null, 2]));
    expect(said).toEqual(['the part (process 1) ended unexpectedly: SIGKILL. Starting the part again.']);
    await part.stop();
    expect(processes[1]?.stopped).toBe(true);
    expect(changes.at(-1)).toBeNull();
  });

  it('is tried again while it cannot start, ever more slowly up to a bound', async () => {
    const { part, processes, changes, said, start, refuse } = scripted();
    const waits = vi.spyOn(globalThis, 'setTimeout');
    await part.begin();
    refuse(new Error('No room.'));
    processes[0]?.die();
    await vi.waitFor(() => expect(start.mock.calls.length).toBeGreaterThan(5));
    const delays = waits.mock.calls.map(([, delay]) => delay);
    waits.mockRestore();
    expect(delays).toEqual(expect.arrayContaining([5, 10, 20, 40]));
    expect(Math.max(...delays.map(Number).filter((delay) => delay < 50))).toBe(40);
    refuse(undefined);
    await vi.waitFor(() => expect(changes.at(-1)).toBe(2));
    expect(said).toEqual([
      'the part (process 1) ended unexpectedly: SIGKILL. Starting the part again.',
      'No room. Starting the part again.',
      'the part is up again (process 2).',
    ]);
    await part.stop();
  });

  it('is not started again once it was stopped', async () => {
    const { part, processes, start } = scripted();
    await part.begin();
    processes[0]?.die();
    await part.stop();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(start).toHaveBeenCalledTimes(1);
  });

  it('gives up a start that is under way when it is stopped', async () => {
    const start = (signal: AbortSignal) =>
      new Promise<RunningPart>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const said: string[] = [];
    const part = createKeptPart({
      name: 'the part',
      start,
      onChange: () => undefined,
      say: (line) => said.push(line),
    });
    const begun = part.begin();
    await part.stop();
    await expect(begun).rejects.toThrow('the part is being stopped');
    expect(said).toEqual([]);
  });

  it('fails its first start to whoever asked for it', async () => {
    const { part, refuse } = scripted();
    refuse(new Error('Port 1 is in use.'));
    await expect(part.begin()).rejects.toThrow('Port 1 is in use.');
  });
});
