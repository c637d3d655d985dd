// Routes of the console's sessions. The cookie is refused from other sites, and has no use for other routes.
import type { RequestContext } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { ok } from '../../platform/http/answers.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { consoleTokenSchema, newSessionBody } from './session.schemas.ts';
import type { ConsoleSessionService } from './session.service.ts';
import { isOwnRequest, readCookie, writeCookie } from './session.ts';

const ID = '0192e4a0-7c1e-7a4b-9d2f-3c5b6a798081';

/** @param sessions signs in and out */
export function createConsoleRoutes({ sessions }: { sessions: ConsoleSessionService }): Route[] {
  return defineRoutes(
    {
      tag: 'Console',
      about: 'Sessions of people in the console. The cookie is of use here only; the API takes tokens.',
      scope: null,
    },
    [
      {
        method: 'POST',
        path: '/console/session',
        operationId: 'createConsoleSession',
        proves: true,
        summary: 'Sign in to the console with the credentials of an application, or with the code of a link',
        request: {
          body: newSessionBody,
          examples: {
            credentials: {
              summary: 'With the credentials of an application',
              value: { client_id: ID, client_secret: 'eW91ciBjbGllbnQgc2VjcmV0IGdvZXMgaGVyZSE' },
            },
            code: {
              summary: 'With the code of a link',
              value: { code: 'b25lIHVzZSwgd2l0aGluIHRlbiBtaW51dGVzIGE' },
            },
          },
        },
        responses: { 204: { description: 'Signed in; the session is in a cookie', headers: ['set-cookie'] } },
        errors: ['invalid_client', 'invalid_grant', 'unauthorized_client', 'policy_denied', 'invalid_scope'],
        handler: async ({ context, body, header }) => {
          refuseOthers(context, header);
          const secret =
            'code' in body
              ? await sessions.redeem(context, body.code)
              : await sessions.signIn(context, {
                  clientId: body.client_id,
                  clientSecret: body.client_secret,
                });
          return { status: 204, headers: { 'set-cookie': writeCookie(context.tenant.baseUrl, secret) } };
        },
      },
      {
        method: 'DELETE',
        path: '/console/session',
        operationId: 'deleteConsoleSession',
        summary: 'Sign out of the console, which ends the tokens of the session',
        responses: { 204: { description: 'There is no session any more', headers: ['set-cookie'] } },
        errors: ['policy_denied'],
        handler: async ({ context, header }) => {
          refuseOthers(context, header);
          await sessions.signOut(context, readCookie(context.tenant.baseUrl, header('cookie')));
          return { status: 204, headers: { 'set-cookie': writeCookie(context.tenant.baseUrl, undefined) } };
        },
      },
      {
        method: 'POST',
        path: '/console/token',
        operationId: 'createConsoleToken',
        summary: 'Get an access token for the session of the console',
        request: { body: noFields },
        responses: {
          200: {
            description: 'An access token of the application for the management API',
            schema: consoleTokenSchema,
            examples: {
              token: {
                summary: 'A token for five minutes',
                value: {
                  access_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.…',
                  expires_in: 300,
                  scope: 'agents:read webhooks:read',
                  client_id: ID,
                  application: 'Console',
                  tenant: { id: ID, name: 'Acme', slug: 'acme' },
                },
              },
            },
          },
        },
        errors: ['invalid_token', 'invalid_client', 'unauthorized_client', 'policy_denied', 'invalid_scope'],
        handler: async ({ context, header }) => {
          refuseOthers(context, header);
          const { baseUrl, id, name, slug } = context.tenant;
          const cookie = readCookie(baseUrl, header('cookie'));
          const { accessToken, expiresIn, grant, client } = await sessions.issueToken(context, cookie);
          return ok({
            access_token: accessToken,
            expires_in: expiresIn,
            scope: grant.scopes.join(' '),
            client_id: client.id,
            application: client.name,
            tenant: { id, name, slug },
          });
        },
      },
    ],
  );
}

/** @throws ServiceError `policy_denied` for a request that a page of another site sent */
function refuseOthers({ tenant }: RequestContext, header: (name: string) => string | undefined): void {
  const from = { origin: header('origin'), site: header('sec-fetch-site') };
  if (!isOwnRequest(tenant.baseUrl, from))
    throw new ServiceError('policy_denied', {
      detail: "Only the tenant's own console may send this request: open it at its base URL.",
    });
}
