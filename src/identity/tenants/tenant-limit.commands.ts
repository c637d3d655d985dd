// `countersign tenant limit`: how many subscriptions a tenant may have, shown and set by an operator.
import { type Command, InvalidArgumentError } from 'commander';
import { useServices } from '../../platform/command-services.ts';
import type { TenantService } from './tenant.service.ts';

type Open = () => Promise<{
  tenants: Pick<TenantService, 'requireBySlug' | 'get' | 'update' | 'subscriptionLimit'>;
  close: () => Promise<void>;
}>;

/** Adds `tenant limit`. @param print writes one line to stdout */
export function registerTenantLimitCommand(
  tenant: Command,
  { open, print }: { open: Open; print: (line: string) => void },
): void {
  tenant
    .command('limit')
    .description('show how many subscriptions a tenant may have, or set it')
    .argument('<slug>')
    .option('--subscriptions <number>', '"default" follows the operator', readLimit)
    .option('--json', 'print the object only')
    .action(async (slug: string, options: { subscriptions?: number | 'default'; json?: true }) => {
      await useServices(open, async ({ tenants }) => {
        const found = await tenants.requireBySlug(slug);
        const { operatorContext } = await import('../../audit/audit.ts');
        const { newId } = await import('../../platform/database/ids.ts');
        const context = operatorContext(found, newId());
        const { subscriptions: given, json } = options;
        const { id, subscriptionLimit: own } =
          given === undefined
            ? await tenants.get(context)
            : await tenants.update(context, { subscriptionLimit: given === 'default' ? null : given });
        const limit = own ?? tenants.subscriptionLimit;
        if (json)
          print(JSON.stringify({ tenant_id: id, slug, subscription_limit: limit, is_own: own !== null }));
        else print(`subscriptions: at most ${limit} (${own === null ? "the operator's" : 'its own'})`);
      });
    });
}

/** @throws InvalidArgumentError, which commander shows with the option */
function readLimit(text: string): number | 'default' {
  if (text === 'default') return text;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1 to 999999, or "default".');
}
