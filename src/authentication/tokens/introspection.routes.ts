// Routes of introspection and revocation.
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { ok } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { introspectionSchema } from './introspection.schemas.ts';
import type { IntrospectionService } from './introspection.service.ts';
import { INTROSPECTIONS, TOKEN_PARAMETERS } from './token.examples.ts';
import { tokenParametersForm, tokenParametersSchema } from './token-form.schemas.ts';

const REQUEST = {
  body: tokenParametersSchema,
  bodyType: 'form',
  described: tokenParametersForm,
  examples: TOKEN_PARAMETERS,
} as const;
const ERRORS: readonly ErrorCode[] = ['invalid_client', 'policy_denied', 'rate_limited'];

/** Routes with which a tenant's applications introspect tokens (RFC 7662) and revoke them (RFC 7009). */
export function createIntrospectionRoutes({
  introspection,
}: {
  introspection: IntrospectionService;
}): Route[] {
  return defineRoutes({ tag: 'Tokens', scope: null }, [
    {
      method: 'POST',
      path: '/oauth/introspect',
      operationId: 'introspectToken',
      proves: true,
      summary: 'Tell whether a token is active, and what it says (RFC 7662)',
      description:
        'For applications of the tenant: any of its access and refresh tokens. A token that is expired, revoked or unknown is not active, and so is one of a suspended agent or tenant.',
      whileSuspended: true,
      clientAuthentication: 'required',
      request: REQUEST,
      responses: {
        200: { description: 'What the token says', schema: introspectionSchema, examples: INTROSPECTIONS },
      },
      errors: ERRORS,
      handler: async ({ context, body, header }) =>
        ok(
          await introspection.introspect(context, {
            authorization: header('authorization'),
            parameters: body,
          }),
        ),
    },
    {
      method: 'POST',
      path: '/oauth/revoke',
      operationId: 'revokeToken',
      proves: true,
      summary: 'End a token (RFC 7009)',
      description:
        'A refresh token ends with all that came from the same authentication; an access token ends alone. The answer is the same for a token that never was.',
      whileSuspended: true,
      clientAuthentication: 'required',
      request: REQUEST,
      responses: { 200: { description: 'The token is not active any more, or never was' } },
      errors: ERRORS,
      handler: async ({ context, body, header }) => {
        await introspection.revoke(context, { authorization: header('authorization'), parameters: body });
        return { status: 200 };
      },
    },
  ]);
}
