// `countersign tenant retention`: for how many days a tenant's rows are kept, shown and set by an operator.
import { type Command, InvalidArgumentError } from 'commander';
import { useServices } from '../../platform/command-services.ts';
import type { TenantRecord, TenantService } from './tenant.service.ts';
import {
  checkRetention,
  daysOf,
  RETENTION_FIELDS,
  type RetentionBounds,
  type RetentionSettings,
  spell,
} from './tenant-retention.ts';

type Open = () => Promise<{
  tenants: Pick<TenantService, 'requireBySlug' | 'get' | 'update' | 'retention'>;
  close: () => Promise<void>;
}>;

type Options = { readonly [Field in keyof RetentionSettings]?: number | 'default' } & { json?: true };

const LABELS = {
  deliveriesDays: 'deliveries',
  eventsDays: 'events',
  auditAddressesDays: 'addresses in the audit log',
} as const satisfies Record<keyof RetentionSettings, string>;

/** Adds `tenant retention`. @param print writes one line to stdout */
export function registerTenantRetentionCommand(
  tenant: Command,
  { open, print }: { open: Open; print: (line: string) => void },
): void {
  const command = tenant
    .command('retention')
    .description('show for how many days the rows of a tenant are kept, or set it within the bounds')
    .argument('<slug>');
  for (const field of RETENTION_FIELDS)
    command.option(
      `${optionOf(field)} <number>`,
      `${LABELS[field]}; "default" follows the operator`,
      readDays,
    );
  command
    .option('--json', 'print the object only')
    .action(async (slug: string, { json, ...given }: Options) => {
      // Commander makes a text of null.
      const patch: Partial<RetentionSettings> = Object.fromEntries(
        Object.entries(given).map(([field, days]) => [field, days === 'default' ? null : days]),
      );
      await useServices(open, async ({ tenants }) => {
        const found = await tenants.requireBySlug(slug);
        const { operatorContext } = await import('../../audit/audit.ts');
        const { newId } = await import('../../platform/database/ids.ts');
        const context = operatorContext(found, newId());
        const before = await tenants.get(context);
        checkRetention(before, patch, tenants.retention, optionOf);
        const changes = Object.keys(patch).length > 0;
        const record = changes ? await tenants.update(context, patch) : before;
        if (json) return print(JSON.stringify(present(record, tenants.retention)));
        for (const line of describeDays(record, tenants.retention)) print(line);
      });
    });
}

const optionOf = (field: keyof RetentionSettings) => `--${spell(field, '-')}`;

/** @throws InvalidArgumentError, which commander shows with the option */
function readDays(text: string): number | 'default' {
  if (text === 'default') return text;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number of days, or "default".');
}

function describeDays(record: TenantRecord, bounds: RetentionBounds): string[] {
  const days = daysOf(record, bounds);
  return RETENTION_FIELDS.map((field) => {
    const { least, most } = bounds[field];
    const own = record[field] === null ? "the operator's" : 'its own';
    const held = days[field] === null ? 'for ever' : `${days[field]} days`;
    return `${LABELS[field]}: ${held} (${own}; ${least} to ${most ?? 'for ever'})`;
  });
}

const present = (record: TenantRecord, bounds: RetentionBounds) => {
  const days = daysOf(record, bounds);
  return {
    tenant_id: record.id,
    slug: record.slug,
    retention: Object.fromEntries(RETENTION_FIELDS.map((field) => [spell(field, '_'), days[field]])),
    retention_bounds: Object.fromEntries(RETENTION_FIELDS.map((field) => [spell(field, '_'), bounds[field]])),
  };
};
