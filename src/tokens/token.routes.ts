// The token endpoint. It must never read credentials itself: the header goes to the service as it is.
import { defineRoute, type Route } from '../http/route.ts';
import { tokenAnswerSchema, tokenRequestSchema } from './token.schemas.ts';
import { TOKEN_PATH, type TokenEndpointService } from './token-endpoint.service.ts';

/** Routes that hand out tokens. Source: Specification, "Agent authentication routes". */
export function createTokenRoutes({ tokenEndpoint }: { tokenEndpoint: TokenEndpointService }): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: TOKEN_PATH,
      operationId: 'requestToken',
      summary:
        'Get an access token: with client credentials, a refresh token, or in exchange for a user’s token',
      tag: 'Tokens',
      scope: null,
      clientAuthentication: true,
      request: { body: tokenRequestSchema, bodyType: 'form' },
      responses: {
        200: {
          description: 'The token',
          schema: tokenAnswerSchema,
          headers: ['cache-control', 'pragma', 'dpop-nonce'],
        },
      },
      errors: [
        'unsupported_grant_type',
        'invalid_grant',
        'invalid_target',
        'delegation_expired',
        'invalid_dpop_proof',
        'use_dpop_nonce',
        'invalid_client',
        'unauthorized_client',
        'policy_denied',
        'invalid_scope',
        'rate_limited',
      ],
      handler: async ({ context, body, header, headerValues }) => {
        const { answer, nonce } = await tokenEndpoint.requestToken(context, {
          authorization: header('authorization'),
          parameters: body,
          proofs: headerValues('dpop'),
        });
        const nonceHeader = nonce === undefined ? {} : { 'dpop-nonce': nonce };
        return {
          status: 200,
          headers: { 'cache-control': 'no-store', pragma: 'no-cache', ...nonceHeader },
          body: answer,
        };
      },
    }),
  ];
}
