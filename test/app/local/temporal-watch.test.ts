// A Temporal server that runs and answers nothing is ended and started again; one that answers is left alone.
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import type { PartExit } from '../../../src/app/local/foreign-part.ts';
import { createKeptPart, type RunningPart } from '../../../src/app/local/kept-part.ts';
import { createTemporalProbe, endWhenSilent } from '../../../src/app/local/temporal-watch.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';

const QUICK = { interval: 2, failures: 4 };

/** A kept server, and what its probes find, in order; the last finding stays. */
function keep(findings: readonly boolean[]) {
  const said: string[] = [];
  const state = { probes: 0, closed: 0, pids: [] as (number | null)[] };
  let pid = 0;
  const start = async (): Promise<RunningPart> => {
    let end: (exit: PartExit) => void = () => undefined;
    const exited = new Promise<PartExit>((resolve) => {
      end = resolve;
    });
    pid += 1;
    const server = { pid, exited, stop: async () => end({ reason: null, description: 'exit code 0' }) };
    const isFirst = pid === 1;
    const probe = async () => {
      if (!isFirst) return true;
      state.probes += 1;
      return findings[state.probes - 1] ?? findings.at(-1) ?? true;
    };
    const close = async () => {
      state.closed += 1;
    };
    return endWhenSilent(server, { probe, close }, QUICK);
  };
  const part = createKeptPart({
    name: 'Temporal',
    start,
    onChange: (changed) => state.pids.push(changed),
    say: (line) => said.push(line),
    backoff: { first: 1, most: 1, healthy: 10_000 },
  });
  onTestFinished(() => part.stop());
  return { part, said, state };
}

describe('a Temporal server of the local stack', () => {
  it('is started again after a minute of failed probes', async () => {
    const { part, said, state } = keep([true, true, false]);
    await part.begin();
    await vi.waitFor(() => expect(state.pids).toEqual([1, null, 2]));
    expect(state.probes).toBe(2 + QUICK.failures);
    expect(state.closed).toBe(1);
    expect(said).toEqual([
      'Temporal (process 1) has answered nothing for a minute. Starting Temporal again.',
    ]);
  });

  it('is left alone when it answers now and then', async () => {
    const { part, said, state } = keep([false, false, false, true, false, false, false, true, false, true]);
    await part.begin();
    await vi.waitFor(() => expect(state.probes).toBeGreaterThan(15));
    expect([state.pids, said]).toEqual([[1], []]);
    await part.stop();
    expect([state.pids, said, state.closed]).toEqual([[1, null], [], 1]);
  });

  it('has answered when it says that there is no such workflow, and not when it says nothing', async () => {
    const namespace = inject('temporalNamespace');
    const proxy = await createStallingProxy(`http://${inject('temporalAddress')}`);
    onTestFinished(proxy.close);
    const { probe, close } = createTemporalProbe({ address: new URL(proxy.url).host, namespace });
    onTestFinished(close);
    expect(await probe()).toBe(true);
    proxy.stall();
    expect(await probe()).toBe(false);
  });
});
