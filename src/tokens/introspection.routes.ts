// Introspection and revocation. They must never read credentials themselves: the header goes to the service as it is.
import type { ErrorCode } from '../errors/catalogue.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { introspectionSchema, tokenParametersSchema } from './introspection.schemas.ts';
import type { IntrospectionService } from './introspection.service.ts';

const TAG = 'Tokens';
const ERRORS: readonly ErrorCode[] = ['invalid_client', 'rate_limited'];

/** Routes with which applications of a tenant look at its tokens (RFC 7662) and end them (RFC 7009). */
export function createIntrospectionRoutes({
  introspection,
}: {
  introspection: IntrospectionService;
}): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/oauth/introspect',
      operationId: 'introspectToken',
      summary: 'Tell whether a token is active, and what it says (RFC 7662)',
      tag: TAG,
      scope: null,
      clientAuthentication: true,
      request: { body: tokenParametersSchema, bodyType: 'form' },
      responses: { 200: { description: 'What the token says', schema: introspectionSchema } },
      errors: ERRORS,
      handler: async ({ context, body, header }) => ({
        status: 200,
        body: await introspection.introspect(context, {
          authorization: header('authorization'),
          parameters: body,
        }),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: '/oauth/revoke',
      operationId: 'revokeToken',
      summary: 'End a token (RFC 7009)',
      tag: TAG,
      scope: null,
      clientAuthentication: true,
      request: { body: tokenParametersSchema, bodyType: 'form' },
      responses: { 200: { description: 'The token is not active any more, or never was' } },
      errors: ERRORS,
      handler: async ({ context, body, header }) => {
        await introspection.revoke(context, { authorization: header('authorization'), parameters: body });
        return { status: 200 };
      },
    }),
  ];
}
