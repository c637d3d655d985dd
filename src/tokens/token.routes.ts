// The token endpoint. It must never read credentials itself: the header goes to the service as it is.
import { defineRoute, type Route } from '../http/route.ts';
import type { ClientCredentialsService } from './client-credentials.service.ts';
import { tokenAnswerSchema, tokenRequestSchema } from './token.schemas.ts';

/** Routes that hand out tokens. Source: Specification, "Agent authentication routes". */
export function createTokenRoutes({
  clientCredentials,
}: {
  clientCredentials: ClientCredentialsService;
}): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/oauth/token',
      operationId: 'requestToken',
      summary: 'Get an access token with client credentials',
      tag: 'Tokens',
      scope: null,
      clientAuthentication: true,
      request: { body: tokenRequestSchema, bodyType: 'form' },
      responses: {
        200: { description: 'The token', schema: tokenAnswerSchema, headers: ['cache-control', 'pragma'] },
      },
      errors: [
        'unsupported_grant_type',
        'invalid_client',
        'unauthorized_client',
        'policy_denied',
        'invalid_scope',
        'rate_limited',
      ],
      handler: async ({ context, body, header }) => ({
        status: 200,
        headers: { 'cache-control': 'no-store', pragma: 'no-cache' },
        body: await clientCredentials.requestToken(context, {
          authorization: header('authorization'),
          parameters: body,
        }),
      }),
    }),
  ];
}
