// The program `countersign`: its commands by name. What a command is made of is loaded when it is called.
import { Command } from 'commander';
import type { Role } from '../platform/config.ts';
import { VERSION } from '../platform/version.ts';
import { COMMANDS } from './commands.ts';
import { CommandFailure, type TerminalRuntime } from './terminal/runtime.ts';

/** The effects of the commands; tests pass substitutes. */
export type Runtime = Pick<TerminalRuntime, 'env' | 'print' | 'fail'> & Partial<TerminalRuntime>;

/** Builds the whole command line. No command runs before `parseAsync`. */
export function createProgram(given: Runtime): Command {
  const runtime = {
    tell: () => undefined,
    interrupted: () => new AbortController().signal,
    readInput: async () => Buffer.alloc(0),
    ...given,
  };
  const program = new Command('countersign')
    .description('Identity for autonomous agents, and durable webhook events.')
    .version(VERSION)
    .configureHelp({ sortSubcommands: false })
    .showHelpAfterError('(run with --help for what is possible)');

  program.commandsGroup('Roles:');
  const role = (name: Exclude<Role, 'command'>, description: string, json: string) =>
    program
      .command(name)
      .description(description)
      .option('--json', json)
      .action(async (options: { json?: true }) => {
        const { runRole } = await import('./roles.ts');
        await runRole(name, runtime.env, { json: options.json === true, print: runtime.print });
      });
  const logLines = 'log lines of JSON, as LOG_FORMAT=json';
  role(
    'start',
    'start everything on this machine: Postgres, Temporal, API and workers',
    `print one object with "status":"ready" and the addresses when it is ready, beside ${logLines}; the rest goes to stderr`,
  );
  role('api', 'serve the HTTP interface', logLines);
  role('worker', 'run workflows and deliver events', logLines);
  role(
    'migrate',
    'bring the database, the Temporal namespace and its search attributes up to date',
    'print only {"applied":[…],"attributes":"ok"|"degraded"}: the migrations that ran, and whether workflows can be searched for',
  );

  for (const { name, description, group } of COMMANDS)
    program.command(name).description(description).helpGroup(group);
  // Commander waits for this before it reads what follows the command's name.
  program.hook('preSubcommand', async (_, command) => {
    runtime.env = await withSecretsOfFiles(given.env);
    command.copyInheritedSettings(program);
    await COMMANDS.find(({ name }) => name === command.name())?.fill(command, runtime);
  });
  return program;
}

/** The table of the settings is loaded only where a variable may name a file. */
async function withSecretsOfFiles(env: Runtime['env']): Promise<Runtime['env']> {
  if (!Object.keys(env).some((name) => name.endsWith('_FILE'))) return env;
  const { readSecretFiles } = await import('../platform/config-secrets.ts');
  return readSecretFiles(env);
}

/**
 * Prints the failure of a command: an expected failure in a few lines, wrong settings in one line each.
 * @returns the exit code: 2 for a wrong setting, 1 for everything else
 */
export async function reportFailure(error: unknown, print: (line: string) => void): Promise<number> {
  const { ConfigError } = await import('../platform/config.ts');
  const { ServiceError } = await import('../platform/errors/service-error.ts');
  const { LocalStackError } = await import('./local/local-stack-error.ts');
  if (error instanceof ConfigError) {
    for (const line of error.message.split('\n')) print(`countersign: ${line}`);
    return 2;
  }
  if (error instanceof ServiceError || error instanceof LocalStackError || error instanceof CommandFailure)
    print(`countersign: ${error.message}`);
  else print(`countersign: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 1;
}
