// The client credentials grant of the token endpoint. client-authentication.service.ts authenticates the client.
import type { RequestContext } from '../../platform/context.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { AuthenticatedClient, ClientAuthenticationService } from './client-authentication.service.ts';
import { CLIENT_CREDENTIALS, checkTokenRequest, decideGrant } from './client-credentials.ts';
import type { ClientRecordService } from './client-record.service.ts';
import type { TokenService } from './token.service.ts';
import { type GrantRequest, type TokenAnswer, tokenTypeOf } from './token-answer.ts';

/** Errors that are recorded as a failed authentication of a known client. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'invalid_client',
  'unauthorized_client',
  'policy_denied',
  'invalid_scope',
  'invalid_target',
  'invalid_dpop_proof',
]);

/** The client credentials grant (RFC 6749 §4.4). Source: Specification, "Client credentials rules". */
export function createClientCredentialsService({
  clients,
  tokens,
  clientRecords,
}: {
  clients: Pick<ClientAuthenticationService, 'authenticate'>;
  tokens: Pick<TokenService, 'issueAccessToken'>;
  clientRecords: Pick<ClientRecordService, 'success' | 'failure'>;
}) {
  /** Records a refusal to an authenticated client. A request for a nonce is not a failure. */
  async function recorded<T>(
    context: RequestContext,
    client: AuthenticatedClient,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServiceError && REFUSALS.has(error.code)) {
        const { id, proof } = client;
        clientRecords.failure(context, id, error.code, CLIENT_CREDENTIALS, { proof, isAuthenticated: true });
      }
      throw error;
    }
  }

  return {
    /**
     * Answers a token request. Round trips, both shared by concurrent requests: 1 reads the client, 1 writes audit
     * entries and events. A failure costs the read and the counter; its record is written in the background.
     * @throws ServiceError `invalid_request`, `invalid_client`, `unauthorized_client`, `policy_denied`,
     * `invalid_scope`, `invalid_target`, `rate_limited` instead of `invalid_client` after too many failures,
     * `invalid_dpop_proof`, `use_dpop_nonce`
     */
    grant: async (context: RequestContext, request: GrantRequest): Promise<TokenAnswer> => {
      checkTokenRequest(request.parameters);
      const client = await clients.authenticate(context, request);
      const { grant, key } = await recorded(context, client, async () => {
        const decided = decideGrant(client, request.parameters, context.tenant.baseUrl);
        const proven = await request.proveKey();
        return { grant: { ...decided, jkt: proven?.jkt }, key: proven };
      });
      const issued = await tokens.issueAccessToken(context.tenant, grant);
      await clientRecords.success(context, grant, issued, client);
      return {
        access_token: issued.accessToken,
        token_type: tokenTypeOf(key),
        expires_in: issued.expiresIn,
        scope: grant.scopes.join(' '),
      };
    },
  };
}
