// Makes the codes of links that sign in to the console.
import type { RecordService } from '../../events/record.service.ts';
import type {
  ApplicationService,
  ApplicationWithSecrets,
} from '../../identity/applications/application.service.ts';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import { hashSecret, newSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import * as store from './session.store.ts';

export type ConsoleLink = { readonly url: string; readonly application: ApplicationWithSecrets };

export function createConsoleCodeService({
  database,
  records,
  applications,
}: {
  database: Pick<Database, 'transaction'>;
  records: Pick<RecordService, 'write'>;
  applications: Pick<ApplicationService, 'list'>;
}) {
  return {
    /**
     * Makes a link that signs in once, within ten minutes.
     * @param applicationId by default the application that can do most
     * @throws ServiceError `not_found` when the tenant has no such application, or none for the console
     */
    makeLink: (context: RequestContext, applicationId?: string): Promise<ConsoleLink> =>
      database.transaction(context, async (unit) => {
        const { tenant } = context;
        const application = choose(tenant, await applications.list(context), applicationId);
        const code = newSecret();
        await store.insertCode(unit, {
          hash: hashSecret(code),
          tenantId: tenant.id,
          applicationId: application.id,
        });
        await records.write(unit, context, {
          audit: [
            {
              action: 'console.link_made',
              outcome: 'success',
              target: { type: 'application', id: application.id },
            },
          ],
        });
        // Browsers send no fragment to servers, so the code is in no log of requests.
        return { url: `${tenant.baseUrl}/console#code=${code}`, application };
      }),
  };
}

export type ConsoleCodeService = ReturnType<typeof createConsoleCodeService>;

/** @param all newest first */
function choose(
  tenant: Tenant,
  all: readonly ApplicationWithSecrets[],
  wanted: string | undefined,
): ApplicationWithSecrets {
  const [found] =
    wanted === undefined
      ? all
          .filter((application) => isFit(tenant, application))
          .toSorted((one, other) => other.scopes.length - one.scopes.length)
      : all.filter(({ id }) => id === wanted);
  if (found !== undefined) return found;
  throw new ServiceError('not_found', {
    detail:
      wanted === undefined
        ? 'No application of this tenant can use the console: make one by `countersign application create`.'
        : 'The tenant has no such application.',
  });
}

/** Whether its tokens are for the management API, and bound to no key. */
function isFit(tenant: Tenant, application: ApplicationWithSecrets): boolean {
  const { audience, agentId, grantTypes, dpopBoundAccessTokens } = application;
  const isForTenant = audience === null || audience === tenant.audience || audience === tenant.baseUrl;
  return (
    isForTenant && agentId === null && !dpopBoundAccessTokens && grantTypes.includes('client_credentials')
  );
}
