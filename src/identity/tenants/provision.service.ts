// Creates a tenant with its first application. Only the result contains the application's secret.

import { operatorContext } from '../../audit/audit.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { APPLICATION_SCOPES } from '../../platform/scopes.ts';
import { Service } from '../../platform/service.ts';
import type { ApplicationService } from '../applications/application.service.ts';
import { GRANT_TYPES } from '../applications/application.ts';
import type { ApplicationJwks } from '../applications/application-jwks.ts';
import type { NewTenant, TenantService } from './tenant.service.ts';
import { toTenant } from './tenant.ts';

const KEY_NEEDED =
  'The profile fapi2 needs --jwks: its first application can authenticate with private_key_jwt only.';

export type Provisioned = {
  readonly tenant_id: string;
  readonly slug: string;
  readonly base_url: string;
  readonly issuer_url: string;
  readonly client_id: string;
  readonly client_secret: string;
};

export class ProvisionService extends Service<{
  database: Pick<Database, 'transaction'>;
  tenants: Pick<TenantService, 'create'>;
  applications: Pick<ApplicationService, 'create'>;
}> {
  /**
   * Creates a tenant, its first issuer key, and an application with every scope and every grant, all or nothing.
   * @param input.jwks keys of the application, for `private_key_jwt`
   * @throws ServiceError `invalid_request` when the slug is not a DNS label, or for the profile `fapi2` without keys;
   * `conflict` when the slug was ever used
   */
  provision = ({
    jwks,
    ...input
  }: NewTenant & { jwks?: ApplicationJwks | undefined }): Promise<Provisioned> =>
    this.needs.database.transaction({}, async (transaction) => {
      if (input.securityProfile === 'fapi2' && !hasKeyForFapi2(jwks))
        throw new ServiceError('invalid_request', { detail: KEY_NEEDED });
      const tenant = toTenant(await this.needs.tenants.create(input, { transaction }));
      const { application, clientSecret } = await this.needs.applications.create(
        operatorContext(tenant, newId(), { transaction }),
        { name: 'First application', scopes: APPLICATION_SCOPES, grantTypes: GRANT_TYPES, jwks },
      );
      return {
        tenant_id: tenant.id,
        slug: tenant.slug,
        base_url: tenant.baseUrl,
        issuer_url: tenant.issuerUrl,
        client_id: application.id,
        client_secret: clientSecret,
      };
    });
}

/** RS256 is not in the profile (FAPI 2.0 Security Profile, §5.4.1). */
function hasKeyForFapi2(jwks: ApplicationJwks | undefined): boolean {
  return jwks?.keys.some(({ alg }) => alg !== 'RS256') ?? false;
}
