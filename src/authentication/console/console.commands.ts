// The command `countersign console`: prints a link that signs in to the console of a tenant.
import type { Command } from 'commander';
import { operatorContext } from '../../audit/audit.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import { useServices } from '../../platform/command-services.ts';
import { newId } from '../../platform/database/ids.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { ConsoleCodeService } from './code.service.ts';

/** Opens the services for one command. `close` releases them, so that the process can exit. */
type Open = () => Promise<{
  tenants: Pick<TenantService, 'requireBySlug'>;
  consoleCodes: ConsoleCodeService;
  /** The tenant of the service's own address. */
  defaultTenant: string | undefined;
  close: () => Promise<void>;
}>;

/** Fills the command `console`. @param print writes one line to stdout */
export function registerConsoleCommand(
  command: Command,
  { open, print }: { open: Open; print: (line: string) => void },
): void {
  command
    .option('--tenant <slug>', "the tenant's slug; by default the tenant of the service's own address")
    .option(
      '--application <client_id or name>',
      "sign in as this application; by default the tenant's oldest, with which it began",
    )
    .option('--json', 'print the answer as JSON only')
    .action(async (options: { tenant?: string; application?: string; json?: true }) => {
      await useServices(open, async (services) => {
        const tenant = await findTenant(services, options.tenant);
        const { url, application, others } = await services.consoleCodes.makeLink(
          operatorContext(tenant, newId()),
          options.application,
        );
        if (options.json)
          return print(
            JSON.stringify({ url, tenant: tenant.slug, client_id: application.id, expires_in: 600 }),
          );
        print(url);
        print(
          `Signs in once to the tenant ${tenant.slug} as the application ${application.name}, for ten minutes.`,
        );
        if (options.application === undefined)
          for (const { id, name } of others) print(`Or: --application ${id}  ${name}`);
      });
    });
}

async function findTenant(
  { tenants, defaultTenant }: Pick<Awaited<ReturnType<Open>>, 'tenants' | 'defaultTenant'>,
  asked: string | undefined,
) {
  const slug = asked ?? defaultTenant;
  if (slug === undefined)
    throw new ServiceError('invalid_request', { detail: '--tenant: name one, no tenant is the default.' });
  return await tenants.requireBySlug(slug);
}
