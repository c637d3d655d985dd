// The commands of `countersign` and their options. With --json a command prints one JSON value only.
import { Command } from 'commander';
import type { Logger } from 'pino';
import { registerApplicationCommands } from '../identity/applications/application.commands.ts';
import { registerTenantCommands } from '../identity/tenants/tenant.commands.ts';
import { registerDoctorCommand } from '../operations/doctor/doctor.commands.ts';
import { registerMasterKeyCommands } from '../operations/master-keys/master-key.commands.ts';
import { registerAuditCommands } from '../operations/operators/audit.commands.ts';
import { registerHostCommands } from '../operations/operators/host.commands.ts';
import { registerOperatorCommands } from '../operations/operators/operator.commands.ts';
import { registerWorkerVersionCommands } from '../operations/operators/worker-version.commands.ts';
import { type Config, ConfigError, loadConfig, type Role } from '../platform/config.ts';
import { ServiceError } from '../platform/errors/service-error.ts';
import { createLogger } from '../platform/logging.ts';
import { VERSION } from '../platform/version.ts';
import { LocalStackError } from './local/local-stack-error.ts';
import { withMasterKey } from './local/master-key.ts';
import { findRunningStack } from './local/running-stack.ts';
import { refuseForeignMasterKey } from './start-checks.ts';

/** The effects of the commands; tests pass substitutes. */
export type Runtime = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly print: (line: string) => void;
  readonly tell?: (line: string) => void;
  /** Sets the exit code of the process. The process itself ends when the command is done. */
  readonly fail: (code: number) => void;
};

/** Builds the whole command line. No command runs before `parseAsync`. */
export function createProgram({ env, print, tell = () => undefined, fail }: Runtime): Command {
  const program = new Command('countersign')
    .description('Identity for autonomous agents, and durable webhook events.')
    .version(VERSION)
    .configureHelp({ sortSubcommands: false })
    .showHelpAfterError('(run with --help for what is possible)');

  // The service is loaded only when a role runs, so that --help and a wrong option are answered quickly.
  const role = (name: Exclude<Role, 'command'>, description: string, json: string) =>
    program
      .command(name)
      .description(description)
      .option('--json', json)
      .action(async (options: { json?: true }) => {
        const { runRole } = await import('./roles.ts');
        await runRole(name, env, { json: options.json === true, print });
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

  program
    .command('openapi')
    .description('print the OpenAPI document of the HTTP interface')
    .action(async () => {
      const { composeOpenApi } = await import('./wiring/api.ts');
      print(JSON.stringify(composeOpenApi(env), null, 2));
    });

  const open = async () => {
    const { wireManagement } = await import('./wiring/commands.ts');
    return openServices(env, wireManagement);
  };
  registerTenantCommands(program, { open, print });
  registerApplicationCommands(program, { open, print });
  registerAuditCommands(program, { open, print, fail });
  registerDoctorCommand(program, {
    open: async () => {
      const { wireExamination } = await import('./wiring/commands.ts');
      return openUnchecked(env, wireExamination);
    },
    print,
    tell,
    fail,
  });
  registerMasterKeyCommands(program, {
    open: async () => {
      const { wireManagement } = await import('./wiring/commands.ts');
      return openUnchecked(env, wireManagement);
    },
    print,
    tell,
    fail,
  });
  registerWorkerVersionCommands(program, {
    print,
    open: async () => {
      const { wireWorkerVersions } = await import('./wiring/commands.ts');
      return wireWorkerVersions(
        loadConfig({ ...(await findRunningStack(env)), ...env }, { role: 'migrate' }),
      );
    },
  });
  const operator = registerOperatorCommands(program, { open, print });
  registerHostCommands(operator, { open, print });
  return program;
}

/** Opens the services of a command, with settings from the environment or from the stack that runs in this folder. */
async function openServices<
  Services extends Parameters<typeof refuseForeignMasterKey>[0] & { close: () => Promise<void> },
>(env: Runtime['env'], compose: (config: Config, logger: Logger) => Services): Promise<Services> {
  const services = await openUnchecked(env, compose);
  try {
    await refuseForeignMasterKey(services);
    return services;
  } catch (error) {
    await services.close();
    throw error;
  }
}

/** Like `openServices`, for commands that check the master keys themselves. */
async function openUnchecked<Services>(
  env: Runtime['env'],
  compose: (config: Config, logger: Logger) => Services,
): Promise<Services> {
  const settings = await withMasterKey({ ...(await findRunningStack(env)), ...env });
  const config = loadConfig(settings, { role: 'command' });
  return compose(config, createLogger({ ...config, logLevel: 'silent' }));
}

/**
 * Prints the failure of a command: an expected failure in one line, wrong settings in one line each.
 * @returns the exit code: 2 for a wrong setting, 1 for everything else
 */
export function reportFailure(error: unknown, print: (line: string) => void): number {
  if (error instanceof ConfigError) {
    for (const line of error.message.split('\n')) print(`countersign: ${line}`);
    return 2;
  }
  if (error instanceof ServiceError || error instanceof LocalStackError)
    print(`countersign: ${error.message}`);
  else print(`countersign: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 1;
}
