// The token endpoint's client credentials grant. It must never be told a secret: the client is authenticated before.
import type { Client } from '../applications/application.service.ts';
import type { RequestContext } from '../context.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { AccessTokenGrant } from './access-token.ts';
import type { ClientAuthenticationService } from './client-authentication.service.ts';
import { checkTokenRequest, decideGrant } from './client-credentials.ts';
import type { ClientRecordService } from './client-record.service.ts';
import type { TokenService } from './token.service.ts';
import { type GrantRequest, type TokenAnswer, tokenTypeOf } from './token-answer.ts';

/** The client credentials grant (RFC 6749 §4.4). Source: Specification, "Client credentials rules". */
export function createClientCredentialsService({
  clients,
  tokens,
  records,
}: {
  clients: Pick<ClientAuthenticationService, 'authenticate'>;
  tokens: Pick<TokenService, 'issueAccessToken'>;
  records: Pick<ClientRecordService, 'success' | 'failure'>;
}) {
  function decide(context: RequestContext, client: Client, scope: string | undefined): AccessTokenGrant {
    try {
      return decideGrant(client, scope, context.tenant.baseUrl);
    } catch (error) {
      if (error instanceof ServiceError) records.failure(context, client.id, error.code);
      throw error;
    }
  }

  return {
    /**
     * Answers a token request. Round trips: 1 to read the client and 1 to write audit entries and events, both shared by
     * requests at the same time; a failure costs the reading and the counter, and its record is written in the background.
     * @throws ServiceError `invalid_request`, `invalid_client`, `unauthorized_client`, `policy_denied`, `invalid_scope`,
     *   `rate_limited` instead of `invalid_client` after too many failures, `invalid_dpop_proof`, `use_dpop_nonce`
     */
    grant: async (context: RequestContext, request: GrantRequest): Promise<TokenAnswer> => {
      checkTokenRequest(request.parameters);
      const client = await clients.authenticate(context, request);
      const decided = decide(context, client, request.parameters.scope);
      const key = await request.proveKey();
      const grant = { ...decided, jkt: key?.jkt };
      const issued = await tokens.issueAccessToken(context.tenant, grant);
      await records.success(context, grant, issued);
      return {
        access_token: issued.accessToken,
        token_type: tokenTypeOf(key),
        expires_in: issued.expiresIn,
        scope: grant.scopes.join(' '),
      };
    },
  };
}

export type ClientCredentialsService = ReturnType<typeof createClientCredentialsService>;
