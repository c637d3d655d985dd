// The commands of `countersign` beside its roles: a name, a line of help, and how its options and actions are loaded.
import type { Command } from 'commander';
import type { Config } from '../platform/config.ts';
import { RESOURCES } from './terminal/resources.ts';
import type { TerminalRuntime } from './terminal/runtime.ts';

type CommandEntry = {
  readonly name: string;
  readonly description: string;
  readonly group: string;
  /** Adds arguments, options, subcommands and actions; awaited before any of them is read. */
  readonly fill: (command: Command, runtime: TerminalRuntime) => Promise<void>;
};

const DAILY = 'Daily work, for a tenant (docs/command-line.md):';
const OPERATOR = 'For the operator of the service:';

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'listen',
    description: 'show events as they arrive, verified; forward them to a receiver',
    group: DAILY,
    fill: async (command, runtime) =>
      (await import('./terminal/listen.commands.ts')).registerListenCommand(command, runtime),
  },
  {
    name: 'trigger',
    description: 'publish an event: the example of its type, or data of your own',
    group: DAILY,
    fill: async (command, runtime) =>
      (await import('./terminal/trigger.commands.ts')).registerTriggerCommand(command, runtime),
  },
  {
    name: 'token',
    description: 'print an access token',
    group: DAILY,
    fill: async (command, runtime) =>
      (await import('./terminal/token.commands.ts')).registerTokenCommand(command, runtime),
  },
  ...RESOURCES.map(({ name, description }) => ({
    name,
    description,
    group: DAILY,
    fill: (command: Command, runtime: TerminalRuntime) => fillResource(name, command, runtime),
  })),
  {
    name: 'user',
    description: 'forget a user for ever',
    group: DAILY,
    fill: async (command, runtime) =>
      (await import('./terminal/user.commands.ts')).registerUserCommands(command, runtime),
  },
  {
    name: 'sign',
    description: 'sign a body on stdin as a delivery, and print its headers',
    group: DAILY,
    fill: async (command, runtime) =>
      (await import('./terminal/sign.commands.ts')).registerSignCommand(command, runtime),
  },
  {
    name: 'verify-receiver',
    description: 'send your receiver good, stale, forged and repeated deliveries; say what to mend',
    group: DAILY,
    fill: async (command, runtime) =>
      (await import('./terminal/verify-receiver.commands.ts')).registerVerifyReceiverCommand(
        command,
        runtime,
      ),
  },
  {
    name: 'standing',
    description: 'whether all is right with the endpoints of a tenant; ends with 1 when somebody has to look',
    group: DAILY,
    fill: async (command, runtime) =>
      (await import('./terminal/standing.commands.ts')).registerStandingCommand(command, runtime),
  },
  {
    name: 'openapi',
    description: 'print the OpenAPI document of the HTTP interface',
    group: DAILY,
    fill: async (command, { env, print }) => {
      command.action(async () => {
        const { composeOpenApi } = await import('./wiring/api.ts');
        print(JSON.stringify(composeOpenApi(env), null, 2));
      });
    },
  },
  {
    name: 'status',
    description: 'how the service stands, on one screen; ends with 1 when something needs a person',
    group: OPERATOR,
    fill: async (command, runtime) =>
      (await import('../operations/status/status.commands.ts')).registerStatusCommand(command, {
        ...runtime,
        open: opening(runtime, async () => (await import('./wiring/status.ts')).wireStanding),
      }),
  },
  {
    name: 'tenant',
    description:
      'create, list and move tenants, set their security profile and for how long their rows are kept',
    group: OPERATOR,
    fill: async (command, runtime) =>
      (await import('../identity/tenants/tenant.commands.ts')).registerTenantCommands(command, {
        ...management(runtime),
        openList: opening(runtime, async () => (await import('./wiring/tenant-list.ts')).wireTenantListing),
      }),
  },
  {
    name: 'application',
    description: "create and list a tenant's applications, rotate their secrets",
    group: OPERATOR,
    fill: async (command, runtime) =>
      (await import('../identity/applications/application.commands.ts')).registerApplicationCommands(
        command,
        management(runtime),
      ),
  },
  {
    name: 'doctor',
    description:
      'find rows without their workflow, workflows without their row, and what nothing moves; ends with 1 when something is left',
    group: OPERATOR,
    fill: async (command, runtime) =>
      (await import('../operations/doctor/doctor.commands.ts')).registerDoctorCommand(command, {
        ...runtime,
        open: opening(runtime, async () => (await import('./wiring/examination.ts')).wireExamination),
      }),
  },
  {
    name: 'restore-check',
    description:
      'after a restore of the database, before anything serves and again with a worker: do what it needs; ends with 1 when something is left',
    group: OPERATOR,
    fill: async (command, runtime) =>
      (await import('../operations/restores/restore-check.commands.ts')).registerRestoreCheckCommand(
        command,
        {
          ...management(runtime),
          openDoctor: opening(runtime, async () => (await import('./wiring/examination.ts')).wireExamination),
        },
      ),
  },
  {
    name: 'master-key',
    description: 'the keys of MASTER_KEY, which seal secrets at rest; makes and wraps keys',
    group: OPERATOR,
    fill: async (command, runtime) =>
      (await import('../operations/master-keys/master-key.commands.ts')).registerMasterKeyCommands(command, {
        ...runtime,
        open: opening(runtime, async () => (await import('./wiring/commands.ts')).wireManagement),
        wrapKey: async (...asked) => (await import('./keys.ts')).wrapKey(runtime.env, ...asked),
      }),
  },
  {
    name: 'console',
    description: 'print a link that signs in to the console of a tenant, once and within ten minutes',
    group: OPERATOR,
    fill: async (command, runtime) =>
      (await import('../authentication/console/console.commands.ts')).registerConsoleCommand(
        command,
        management(runtime),
      ),
  },
  {
    name: 'operator',
    description: 'act across tenants, for the operators of the service; every act is on record',
    group: OPERATOR,
    fill: async (command, runtime) => {
      const { registerOperatorCommands } = await import('../operations/operators/operator.commands.ts');
      const { registerHostCommands } = await import('../operations/operators/host.commands.ts');
      const { registerOperatedDeliveryCommands } = await import(
        '../operations/operators/delivery.commands.ts'
      );
      const { registerErasureCommands } = await import('../operations/erasure/erasure.commands.ts');
      const tenant = registerOperatorCommands(command, management(runtime));
      registerErasureCommands(tenant, management(runtime));
      registerHostCommands(command, management(runtime));
      registerOperatedDeliveryCommands(command, management(runtime));
    },
  },
];

/** Two resources have more than their acts. */
async function fillResource(name: string, command: Command, runtime: TerminalRuntime): Promise<void> {
  const { registerResourceCommands } = await import('./terminal/resource.commands.ts');
  registerResourceCommands(command, name, runtime);
  if (name === 'event') {
    const { registerTriggerCommand } = await import('./terminal/trigger.commands.ts');
    const { registerListenCommand } = await import('./terminal/listen.commands.ts');
    registerTriggerCommand(
      command.command('publish').description('publish an event, as trigger does'),
      runtime,
    );
    registerListenCommand(command.command('follow').description('follow the feed, as listen --feed does'), {
      ...runtime,
      feedOnly: true,
    });
  }
  if (name === 'audit') {
    const { registerAuditCommands } = await import('../operations/operators/audit.commands.ts');
    registerAuditCommands(command, management(runtime));
  }
}

/** Opens services for a command that seals and opens no secret, or checks the master keys itself. */
function opening<Services>(
  { env }: TerminalRuntime,
  load: () => Promise<(config: Config) => Services>,
): () => Promise<Services> {
  return async () => {
    const { openUnchecked } = await import('./command-services.ts');
    return openUnchecked(env, await load());
  };
}

/** The runtime of commands that need the services of management. */
function management(runtime: TerminalRuntime) {
  return {
    ...runtime,
    open: async () => {
      const { openServices } = await import('./command-services.ts');
      const { wireManagement } = await import('./wiring/commands.ts');
      return openServices(runtime.env, wireManagement);
    },
  };
}
