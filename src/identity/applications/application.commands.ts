// The commands `countersign application …`. With --json, stdout contains only the answer.
import { type Command, Option } from 'commander';
import { operatorContext } from '../../audit/audit.ts';
import { parseInput } from '../../platform/command-input.ts';
import { useServices } from '../../platform/command-services.ts';
import { newId } from '../../platform/database/ids.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { APPLICATION_SCOPES } from '../../platform/scopes.ts';
import type { TenantService } from '../tenants/tenant.service.ts';
import {
  createApplicationBody,
  presentApplication,
  presentCreatedApplication,
  presentCreatedSecret,
} from './application.schemas.ts';
import type { ApplicationService } from './application.service.ts';
import { JWKS_OPTION, parseJwks } from './application-jwks.commands.ts';

/** Opens the services for one command. `close` releases them, so that the process can exit. */
type Open = () => Promise<{
  tenants: TenantService;
  applications: ApplicationService;
  close: () => Promise<void>;
}>;

type ApplicationScope = (typeof APPLICATION_SCOPES)[number];
type TenantOption = { tenant: string; json?: true };

const forTenant = (command: Command) =>
  command
    .requiredOption('--tenant <slug>', "the tenant's slug")
    .option('--json', 'print the answer as JSON only');

/** Opens the services for `work` on the tenant with this slug. */
const within = <Result>(
  open: Open,
  slug: string,
  work: (services: Awaited<ReturnType<Open>>, context: ReturnType<typeof operatorContext>) => Promise<Result>,
): Promise<Result> =>
  useServices(open, async (services) =>
    work(services, operatorContext(await services.tenants.requireBySlug(slug), newId())),
  );

/** Fills in `application create`, `list` and `rotate-secret`. @param print writes one line to stdout */
export function registerApplicationCommands(
  application: Command,
  { open, print }: { open: Open; print: (line: string) => void },
): void {
  forTenant(
    application
      .command('create')
      .description('create a confidential client; its secret is shown this once')
      .argument('<name>', 'display name'),
  )
    .addOption(
      new Option('--scope <scope...>', 'scopes that it may ask for; all unless given').choices(
        APPLICATION_SCOPES,
      ),
    )
    .option('--audience <audience>', "audience of its tokens; the tenant's address unless given")
    .option('--agent <id>', 'the agent that it acts for')
    .option(...JWKS_OPTION)
    .option('--dpop-bound', 'it gets tokens only with a DPoP proof, bound to its key')
    .action(
      async (
        name: string,
        options: TenantOption & {
          scope?: ApplicationScope[];
          audience?: string;
          agent?: string;
          jwks?: string;
          dpopBound?: true;
        },
      ) => {
        const {
          agent_id: agentId,
          jwks: _,
          dpop_bound_access_tokens: dpopBoundAccessTokens,
          ...input
        } = parseInput(
          createApplicationBody,
          {
            name,
            scopes: options.scope ?? [...APPLICATION_SCOPES],
            audience: options.audience,
            agent_id: options.agent,
            dpop_bound_access_tokens: options.dpopBound,
          },
          { name: '<name>', scopes: '--scope', audience: '--audience', agent_id: '--agent' },
        );
        const jwks = await parseJwks(options.jwks);
        const created = await within(open, options.tenant, async ({ applications }, context) =>
          presentCreatedApplication(
            await applications.create(context, { ...input, agentId, jwks, dpopBoundAccessTokens }),
            context.tenant.baseUrl,
          ),
        );
        if (options.json) return print(JSON.stringify(created));
        print(`Application ${created.name}`);
        print(`  client_id      ${created.client_id}`);
        print(`  client_secret  ${created.client_secret}   (shown once: keep it now)`);
      },
    );

  forTenant(
    application.command('list').description('list all applications of a tenant, the newest first'),
  ).action(async (options: TenantOption) => {
    const listed = await within(open, options.tenant, async ({ applications }, context) =>
      (await applications.list(context)).map((each) => presentApplication(each, context.tenant.baseUrl)),
    );
    if (options.json) return print(JSON.stringify(listed));
    for (const { client_id, name, scopes } of listed) print(`${client_id}  ${name}  (${scopes.join(' ')})`);
  });

  forTenant(
    application
      .command('rotate-secret')
      .description('make a new secret; the one before stays valid for a while')
      .argument('<client_id>'),
  )
    .option('--overlap <seconds>', 'how long the one before stays valid', parseSeconds, 86_400)
    .action(async (clientId: string, options: TenantOption & { overlap: number }) => {
      const created = await within(open, options.tenant, async ({ applications }, context) =>
        presentCreatedSecret(await applications.rotateSecret(context, clientId, options.overlap)),
      );
      if (options.json) return print(JSON.stringify({ client_id: clientId, ...created }));
      print(`Application ${clientId} has a new secret; the one before ends in ${options.overlap} s.`);
      print(`  client_secret  ${created.client_secret}   (shown once: keep it now)`);
    });
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d{1,7}$/.test(text) || seconds > 2_592_000)
    throw new ServiceError('invalid_request', {
      detail: '--overlap: must be a whole number of seconds from 0 to 2592000',
    });
  return seconds;
}
