// The service as real processes of api and worker, on a port that its tenant's addresses name, for a browser.
import { onTestFinished } from 'vitest';
import { prepareRuns } from '../app/roles/role-runs.ts';
import { takePort } from '../setup/ports.ts';
import { eventually } from '../workflows/delivery-engine.ts';

export interface LiveTenant {
  readonly base_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** Runs a command of the command line and reads its JSON. */
  read<T>(args: readonly string[]): Promise<T>;
}

/** Starts it with a tenant; it ends with the test. */
export async function startLiveTenant(): Promise<LiveTenant> {
  const [port, metrics] = [String(await takePort()), String(await takePort())];
  const { run, close } = await prepareRuns({
    PORT: port,
    PUBLIC_URL: `http://localhost:${port}`,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    TEMPORAL_UI_URL: 'http://localhost:8233',
  });
  const read = async <T>(args: readonly string[]): Promise<T> => {
    const { exited, output } = run([...args, '--json']);
    if ((await exited) !== 0) throw new Error(`${args.join(' ')}: ${output.stderr}`);
    return JSON.parse(output.stdout);
  };
  const made = await read<Omit<LiveTenant, 'read'>>(['tenant', 'create', 'walker']);
  const parts = [run(['api']), run(['worker'], { METRICS_PORT: metrics })];
  // Also when one of them never becomes ready.
  onTestFinished(async () => {
    for (const { child, exited } of parts) {
      child.kill('SIGTERM');
      await exited;
    }
    await close();
  });
  const isReady = async (at: string): Promise<boolean> => {
    for (const { child, output } of parts) if (child.exitCode !== null) throw new Error(output.stderr);
    const answer = await fetch(`http://127.0.0.1:${at}/readyz`).catch(() => undefined);
    return answer?.ok ?? false;
  };
  for (const at of [port, metrics]) await eventually(() => isReady(at), `a process on ${at}`);
  return { ...made, read };
}
