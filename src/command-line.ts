// The commands of `countersign` and their options. Each only parses, calls one composed service and prints; --json prints nothing else.
import { Command } from 'commander';
import { registerApplicationCommands } from './applications/application.commands.ts';
import { ConfigError, loadConfig, type Role } from './config.ts';
import { ServiceError } from './errors/service-error.ts';
import { LocalStackError } from './local/local-stack-error.ts';
import { findRunningStack } from './local/running-stack.ts';
import { createLogger } from './logging.ts';
import { registerTenantCommands } from './tenants/tenant.commands.ts';

/** What the commands need from outside; tests give their own. */
export type Runtime = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes one line to stdout. */
  readonly print: (line: string) => void;
};

/** Builds the whole command line; nothing runs before `parseAsync`. */
export function createProgram({ env, print }: Runtime): Command {
  const program = new Command('countersign')
    .description('Identity for autonomous agents, and durable webhook events.')
    .version('0.1.0')
    .configureHelp({ sortSubcommands: false })
    .showHelpAfterError('(run with --help for what is possible)');

  // Composed late: --help and a wrong option answer at once, without loading the service.
  const role = (name: Exclude<Role, 'command'>) => async () => {
    const { runRole } = await import('./roles.ts');
    await runRole(name, env);
  };
  program
    .command('start')
    .description('start everything on this machine: Postgres, Temporal, API and workers')
    .action(role('start'));
  program.command('api').description('serve the HTTP interface').action(role('api'));
  program.command('worker').description('run workflows and deliver events').action(role('worker'));
  program
    .command('migrate')
    .description('bring the database, the Temporal namespace and its search attributes up to date')
    .action(role('migrate'));

  program
    .command('openapi')
    .description('print the OpenAPI document of the HTTP interface')
    .action(async () => {
      const { composeOpenApi } = await import('./compose.ts');
      print(JSON.stringify(composeOpenApi(env), null, 2));
    });

  const open = async () => {
    const { composeManagement } = await import('./compose.ts');
    const config = loadConfig({ ...(await findRunningStack(env)), ...env }, { role: 'command' });
    return composeManagement(config, createLogger({ ...config, logLevel: 'silent' }));
  };
  registerTenantCommands(program, { open, print });
  registerApplicationCommands(program, { open, print });
  return program;
}

/**
 * Tells the operator what failed, in one line where it was expected.
 * @returns the exit code: 2 for a wrong setting, 1 for everything else
 */
export function reportFailure(error: unknown, print: (line: string) => void): number {
  if (error instanceof ConfigError) {
    print(`countersign: ${error.message}`);
    return 2;
  }
  if (error instanceof ServiceError || error instanceof LocalStackError)
    print(`countersign: ${error.message}`);
  else print(`countersign: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 1;
}
