// The route of the token endpoint.
import { ok } from '../../platform/http/answers.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { TOKEN_ANSWERS, TOKEN_REQUESTS } from './token.examples.ts';
import { tokenAnswerSchema } from './token.schemas.ts';
import { TOKEN_PATH, type TokenEndpointService } from './token-endpoint.service.ts';
import { tokenRequestForm, tokenRequestSchema } from './token-form.schemas.ts';

/** Source: Specification, "Agent authentication routes". */
export function createTokenRoutes({
  tokenEndpoint,
}: {
  tokenEndpoint: Pick<TokenEndpointService, 'requestToken'>;
}): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: TOKEN_PATH,
      cors: true,
      operationId: 'requestToken',
      proves: true,
      asksOthers: true,
      summary:
        "Get an access token: with client credentials, a refresh token, a workload's assertion, or in exchange for a user's token",
      description:
        'The grants are told apart by `grant_type`. With a DPoP proof (RFC 9449) the tokens are bound to its key, and `token_type` is `DPoP`. A parameter that comes twice is refused, an unknown one is ignored (RFC 6749 §3.2).',
      tag: 'Tokens',
      about: 'Tokens for applications, exchange, introspection and revocation of tokens.',
      scope: null,
      clientAuthentication: 'optional',
      bindsTokens: true,
      request: {
        body: tokenRequestSchema,
        bodyType: 'form',
        described: tokenRequestForm,
        examples: TOKEN_REQUESTS,
      },
      responses: {
        200: {
          description: 'The token',
          schema: tokenAnswerSchema,
          examples: TOKEN_ANSWERS,
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
        return ok(answer, { 'cache-control': 'no-store', pragma: 'no-cache', ...nonceHeader });
      },
    }),
  ];
}
