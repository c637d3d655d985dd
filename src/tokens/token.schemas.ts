// Shapes of the token endpoint. Unknown parameters are let through: RFC 6749 §3.2 wants them ignored.
import { z } from 'zod';
import { ASSERTION_TYPE } from './client-method.ts';

/** Form parameters of a signed client assertion, at every route that takes one. */
export const clientAssertion = {
  client_assertion: z.string().optional().describe('private_key_jwt (RFC 7523), instead of HTTP Basic'),
  client_assertion_type: z.string().optional().describe(ASSERTION_TYPE),
};

/** Form parameters of `POST /oauth/token`. */
export const tokenRequestSchema = z
  .object({
    grant_type: z.string().optional().describe('client_credentials or refresh_token'),
    scope: z
      .string()
      .optional()
      .describe("Space-separated; all of the application's, or the refresh token's, scopes when absent"),
    client_id: z.string().optional(),
    refresh_token: z.string().optional().describe('refresh_token: the token to exchange'),
    resource: z
      .string()
      .optional()
      .describe(
        "refresh_token: which of the agent's audiences the access token is for (RFC 8707); that of the authentication when absent",
      ),
    audience: z.string().optional().describe("Refused: the audience is the application's"),
    client_secret: z.string().optional().describe('Refused: authenticate with HTTP Basic'),
    ...clientAssertion,
  })
  .meta({ id: 'TokenRequest' });

/** Source: Specification, "Token response"; client credentials have no refresh token. */
export const tokenAnswerSchema = z
  .strictObject({
    access_token: z.string(),
    refresh_token: z.string().optional().describe('Of the refresh grant only; the one before is spent'),
    token_type: z.enum(['Bearer', 'DPoP']),
    expires_in: z.int().describe('Seconds'),
    scope: z.string().describe('The granted scopes, sorted, separated by spaces'),
  })
  .meta({ id: 'TokenResponse' });
