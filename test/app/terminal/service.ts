// The whole interface on a free port, and `countersign` as its user types it.
import { createProgram, reportFailure } from '../../../src/app/command-line.ts';
import { startTenants } from '../../isolation/tenants-server.ts';

export type Service = Awaited<ReturnType<typeof startService>>;

export type Run = { readonly lines: string[]; readonly told: string[]; readonly code: number };

export async function startService() {
  const tenants = await startTenants(undefined, undefined, { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  tenants.startAttempts();
  const { credentials } = tenants.owner;
  const env = {
    COUNTERSIGN_URL: credentials.base_url,
    COUNTERSIGN_CLIENT_ID: credentials.client_id,
    COUNTERSIGN_CLIENT_SECRET: credentials.client_secret,
  };

  /** Begins `countersign <args>`; `end` is what Ctrl-C does. */
  function begin(
    args: string[],
    { input = '', ...replaced }: { input?: string; env?: Readonly<Record<string, string>> } = {},
  ) {
    const lines: string[] = [];
    const told: string[] = [];
    const interruption = new AbortController();
    let code = 0;
    const program = createProgram({
      env,
      print: (line) => lines.push(...line.split('\n')),
      tell: (line) => told.push(line),
      fail: (exitCode) => {
        code = exitCode;
      },
      interrupted: () => interruption.signal,
      readInput: async () => Buffer.from(input),
      ...replaced,
    });
    program
      .exitOverride()
      .configureOutput({ writeErr: (text) => told.push(text), writeOut: (text) => lines.push(text) });
    const ended = program
      .parseAsync(args, { from: 'user' })
      .catch(async (error: unknown) => {
        code = await reportFailure(error, (line) => told.push(line));
      })
      .then((): Run => ({ lines, told, code }));
    return { lines, told, ended, end: () => interruption.abort() };
  }

  return {
    ...tenants,
    env,
    begin,
    run: (args: string[], options?: Parameters<typeof begin>[1]): Promise<Run> => begin(args, options).ended,
  };
}
