// Makes the codes of links that sign in to the console.

import { succeeded } from '../../audit/audit.ts';
import type {
  ApplicationService,
  ApplicationWithSecrets,
} from '../../identity/applications/application.service.ts';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import { hashSecret, newSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import * as store from './session.store.ts';

export type ConsoleLink = {
  readonly url: string;
  readonly application: ApplicationWithSecrets;
  /** The others that a link could be for. */
  readonly others: readonly ApplicationWithSecrets[];
};

export class ConsoleCodeService extends Service<{
  database: Pick<Database, 'transaction'>;
  records: Pick<RecordService, 'write'>;
  applications: Pick<ApplicationService, 'list'>;
}> {
  /**
   * Makes a link that signs in once, within ten minutes.
   * @param wanted id or name; by default the oldest application for the console, with which the tenant began
   * @throws ServiceError `not_found` when the tenant has no such application, or none for the console;
   * `invalid_request` when several have this name
   */
  makeLink = (context: RequestContext, wanted?: string): Promise<ConsoleLink> =>
    this.needs.database.transaction(context, async (unit) => {
      const { tenant } = context;
      const all = await this.needs.applications.list(context);
      const application = choose(tenant, all, wanted);
      const code = newSecret();
      await store.insertCode(unit, tenant.id, hashSecret(code), application.id);
      await this.needs.records.write(unit, context, {
        audit: [succeeded('console.link_made', { type: 'application', id: application.id })],
      });
      // Browsers send no fragment to servers, so the code is in no log of requests.
      const others = all.filter((other) => other !== application && isFit(tenant, other));
      return { url: `${tenant.baseUrl}/console#code=${code}`, application, others };
    });

  /** Ends all links of all tenants, in the caller's transaction. @returns their number */
  removeAll = (transaction: Transaction): Promise<number> => store.removeCodes(transaction);
}

/** @param all newest first */
function choose(
  tenant: Tenant,
  all: readonly ApplicationWithSecrets[],
  wanted: string | undefined,
): ApplicationWithSecrets {
  const fitting =
    wanted === undefined
      ? all.filter((application) => isFit(tenant, application)).slice(-1)
      : all.filter(({ id, name }) => id === wanted || name === wanted);
  const [found, ...more] = fitting;
  if (more.length > 0)
    throw new ServiceError('invalid_request', {
      detail: `Several applications have this name: ${fitting.map(({ id }) => id).join(', ')}.`,
    });
  if (found !== undefined) return found;
  throw new ServiceError('not_found', {
    detail:
      wanted === undefined
        ? 'No application of this tenant can use the console: make one by `countersign application create`.'
        : 'The tenant has no application with this client id or name.',
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
