// `countersign operator …`: parses options, calls the service, prints. With --json, stdout has only the answer.
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { TenantRecord } from '../../identity/tenants/tenant.service.ts';
import { parseInput } from '../../platform/command-input.ts';
import { useServices } from '../../platform/command-services.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { HostService } from './host.service.ts';
import { intentSchema, logSchema } from './operator.schemas.ts';
import type { OperatorActService } from './operator-act.service.ts';
import type { OperatorAct, OperatorIntent } from './operator-act.ts';
import type { SuspensionService } from './suspension.service.ts';

export type OperatorServices = {
  readonly acts: Pick<OperatorActService, 'list'>;
  readonly suspensions: SuspensionService;
  readonly hosts: HostService;
  readonly close: () => Promise<void>;
};

export type OperatorRuntime = {
  readonly open: () => Promise<OperatorServices>;
  readonly print: (line: string) => void;
};

export type IntentOptions = { readonly reason: string; readonly as?: string; readonly json?: true };

/** Adds the operator's name and the reason, which every command needs that records an act. */
export function withIntent(command: Command): Command {
  return command
    .requiredOption('--reason <text>', 'why; the tenants concerned read it in their audit logs')
    .option('--as <name>', 'in whose name; the user of this machine unless given')
    .option('--json', 'print the object only');
}

/** Adds the operator's name, for a command that supplies the reason itself. */
export function withName(command: Command): Command {
  return command
    .option('--as <name>', 'in whose name it is on record; the user of this machine unless given')
    .option('--reason <text>', 'why; the command itself unless given');
}

/** @throws ServiceError `invalid_request` */
export function readIntent({ reason, as }: Pick<IntentOptions, 'reason' | 'as'>): OperatorIntent {
  const names = { operator: '--as', reason: '--reason' };
  return parseInput(intentSchema, { operator: as ?? currentUser(), reason }, names);
}

/** Fills in `operator tenant suspend|resume` and `operator log`. @returns `operator tenant` */
export function registerOperatorCommands(operator: Command, runtime: OperatorRuntime): Command {
  const { print } = runtime;
  const tenant = operator.command('tenant').description('suspend, resume, export, end and restore tenants');

  const registerChange = (verb: 'suspend' | 'resume', description: string) =>
    withIntent(tenant.command(verb).description(description).argument('<slug>')).action(
      async (slug: string, options: IntentOptions) => {
        const intent = readIntent(options);
        const result = await useServices(runtime.open, ({ suspensions }) => suspensions[verb](intent, slug));
        if (options.json) print(JSON.stringify(describeChange(result)));
        else print(SENTENCES[verb](result.tenant, result.changed));
      },
    );
  registerChange(
    'suspend',
    'refuse a tenant everything: nobody authenticates, its tokens end, its deliveries wait',
  );
  registerChange('resume', 'serve a tenant again; tokens of before stay ended, its deliveries go out');

  operator
    .command('log')
    .description('list what operators did, the newest first')
    .option('--limit <number>', 'how many', '50')
    .option('--json', 'print the object only')
    .action(async (options: { limit: string; json?: true }) => {
      const { limit } = parseInput(logSchema, { limit: options.limit }, { limit: '--limit' });
      const { acts, ...record } = await useServices(runtime.open, (services) => services.acts.list(limit));
      if (options.json) return print(JSON.stringify({ acts, ...record }));
      for (const act of acts) print(lineOf(act));
      if (record.missing > 0) print(`Missing: ${record.missing} acts have been removed from the record.`);
      if (record.altered > 0) print(`Altered: ${record.altered} acts are not as they were recorded.`);
    });
  return tenant;
}

const SENTENCES = {
  suspend: ({ slug, suspendedAt }: TenantRecord, changed: boolean) =>
    changed
      ? `Tenant ${slug} is suspended: it is refused everywhere within a second, and its deliveries wait.`
      : `Tenant ${slug} has been suspended since ${suspendedAt?.toISOString()}; nothing changed.`,
  resume: ({ slug }: TenantRecord, changed: boolean) =>
    changed
      ? `Tenant ${slug} is served again within a second; tokens of before stay ended.`
      : `Tenant ${slug} was not suspended; nothing changed.`,
};

/** The object that a command prints which has changed a tenant. */
export const describeChange = ({ tenant, changed }: { tenant: TenantRecord; changed: boolean }) => ({
  tenant_id: tenant.id,
  slug: tenant.slug,
  suspended_at: tenant.suspendedAt?.toISOString() ?? null,
  changed,
});

const lineOf = ({ n, at, operator, action, target, reason, data }: OperatorAct): string => {
  const name = typeof data?.slug === 'string' ? data.slug : target.id;
  return `${String(n).padStart(5)}  ${at.toISOString()}  ${operator}  ${action}  ${name}  ${reason}`;
};

function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    throw new ServiceError('invalid_request', { detail: '--as: is needed, since this user has no name' });
  }
}
