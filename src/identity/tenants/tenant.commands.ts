// The commands `countersign tenant …`. With --json, stdout contains only the answer.
import { Argument, type Command, Option } from 'commander';
import { useServices } from '../../platform/command-services.ts';
import type { SecurityProfile } from '../../platform/context.ts';
import { JWKS_OPTION, parseJwks } from '../applications/application-jwks.commands.ts';
import type { ProvisionService } from './provision.service.ts';
import type { TenantRecord, TenantService } from './tenant.service.ts';
import { SECURITY_PROFILES } from './tenant.ts';
import { registerTenantLimitCommand } from './tenant-limit.commands.ts';
import { registerTenantRetentionCommand } from './tenant-retention.commands.ts';

/** Opens the services for one command. `close` releases them, so that the process can exit. */
type Open = () => Promise<{
  tenants: TenantService;
  provisioning: ProvisionService;
  close: () => Promise<void>;
}>;

type Profile = SecurityProfile | 'none';

const describe = ({ id, slug, name, baseUrl, issuerUrl, ...tenant }: TenantRecord) => ({
  tenant_id: id,
  slug,
  name,
  base_url: baseUrl,
  issuer_url: issuerUrl,
  security_profile: tenant.securityProfile,
  suspended_at: tenant.suspendedAt?.toISOString() ?? null,
  created_at: tenant.createdAt.toISOString(),
});

/** Opens what the list needs. */
type OpenList = () => Promise<{ tenants: Pick<TenantService, 'list'>; close: () => Promise<void> }>;

/**
 * Fills in `tenant create`, `tenant list`, `tenant profile`, `tenant retention`, `tenant limit` and `tenant move`.
 * @param print writes one line to stdout
 */
export function registerTenantCommands(
  tenant: Command,
  { open, openList = open, print }: { open: Open; openList?: OpenList; print: (line: string) => void },
): void {
  tenant
    .command('create')
    .description('create a tenant and its first application; the secret is shown this once')
    .argument('<slug>', 'a DNS label; it can never be changed or used again')
    .option('--name <name>', 'display name; the slug unless given')
    .addOption(
      new Option(
        '--security-profile <profile>',
        'fapi2: DPoP and private_key_jwt for all; needs --jwks',
      ).choices(SECURITY_PROFILES),
    )
    .option(...JWKS_OPTION)
    .option('--json', 'print the object only')
    .action(
      async (
        slug: string,
        options: { name?: string; securityProfile?: Profile; jwks?: string; json?: true },
      ) => {
        const { parseInput } = await import('../../platform/command-input.ts');
        const { tenantPatchSchema } = await import('./tenant.schemas.ts');
        const { name } = parseInput(tenantPatchSchema, { name: options.name }, { name: '--name' });
        const jwks = await parseJwks(options.jwks);
        await useServices(open, async (services) => {
          const created = await services.provisioning.provision({
            slug,
            name,
            jwks,
            securityProfile: options.securityProfile,
          });
          if (options.json) return print(JSON.stringify(created));
          print(`Tenant ${created.slug} (${created.tenant_id}) is at ${created.base_url}.`);
          print(`  client_id      ${created.client_id}`);
          print(`  client_secret  ${created.client_secret}   (shown once: keep it now)`);
        });
      },
    );

  tenant
    .command('list')
    .description('list all tenants, the oldest first')
    .option('--json', 'print the array only')
    .action(async (options: { json?: true }) => {
      await useServices(openList, async (services) => {
        const tenants = (await services.tenants.list()).map(describe);
        if (options.json) return print(JSON.stringify(tenants));
        for (const { slug, tenant_id, base_url, name, suspended_at } of tenants) {
          const standing = suspended_at === null ? '' : `  (suspended since ${suspended_at})`;
          print(`${slug.padEnd(24)} ${tenant_id}  ${base_url}  ${name}${standing}`);
        }
      });
    });

  tenant
    .command('profile')
    .description('set the security profile of a tenant; fapi2 ends its tokens that are bound to no key')
    .argument('<slug>')
    .addArgument(new Argument('<profile>').choices(SECURITY_PROFILES))
    .option('--json', 'print the object only')
    .action(async (slug: string, securityProfile: Profile, options: { json?: true }) => {
      await useServices(open, async (services) => {
        const found = await services.tenants.requireBySlug(slug);
        const { operatorContext } = await import('../../audit/audit.ts');
        const { newId } = await import('../../platform/database/ids.ts');
        const context = operatorContext(found, newId());
        const changed = describe(await services.tenants.update(context, { securityProfile }));
        print(
          options.json
            ? JSON.stringify(changed)
            : `Tenant ${changed.slug} has the security profile ${changed.security_profile}.`,
        );
      });
    });

  registerTenantRetentionCommand(tenant, { open, print });
  registerTenantLimitCommand(tenant, { open, print });

  tenant
    .command('move')
    .description('give a tenant the address that PUBLIC_URL and TENANT_URL say; its earlier tokens end')
    .argument('<slug>')
    .option('--json', 'print the object only')
    .action(async (slug: string, options: { json?: true }) => {
      await useServices(open, async (services) => {
        const moved = describe(await services.tenants.move(slug));
        print(
          options.json
            ? JSON.stringify(moved)
            : `Tenant ${moved.slug} is at ${moved.base_url} now; tokens of before are refused.`,
        );
      });
    });
}
