// Schemas of the token endpoint. Unknown parameters are ignored (RFC 6749 §3.2).
import { z } from 'zod';
import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import { ACTOR_TYPES, ISSUED_TOKEN_TYPE, SUBJECT_TYPES } from '../token-exchange/exchange-request.ts';
import { ASSERTION_TYPE } from './client-method.ts';
import { JWT_BEARER_GRANT } from './grant-types.ts';

/** Form parameters of a signed client assertion. */
export const clientAssertion = {
  client_assertion: z.string().optional().describe('private_key_jwt (RFC 7523), instead of HTTP Basic'),
  client_assertion_type: z.string().optional().describe(ASSERTION_TYPE),
};

export const tokenRequestSchema = z
  .object({
    grant_type: z
      .string()
      .optional()
      .describe(`client_credentials, refresh_token, ${TOKEN_EXCHANGE_GRANT} or ${JWT_BEARER_GRANT}`),
    scope: z
      .string()
      .optional()
      .describe(
        "Space-separated; when absent all of the application's or the refresh token's, of an exchange all that every side allows",
      ),
    client_id: z.string().optional(),
    refresh_token: z.string().optional().describe('refresh_token: the token to exchange'),
    resource: z
      .string()
      .optional()
      .describe(
        "Which of the agent's audiences the token is for (RFC 8707). refresh_token: that of the authentication when absent",
      ),
    audience: z
      .string()
      .optional()
      .describe(
        "token exchange: as resource, for an audience that is no URI. client_credentials: refused, it is the application's",
      ),
    subject_token: z.string().optional().describe('token exchange: the token of whom the agent acts for'),
    subject_token_type: z
      .string()
      .optional()
      .describe(`token exchange: ${SUBJECT_TYPES.join(', ')}`),
    actor_token: z.string().optional().describe("token exchange: the agent's own access token"),
    actor_token_type: z
      .string()
      .optional()
      .describe(`token exchange: ${ACTOR_TYPES.join(', ')}`),
    requested_token_type: z.string().optional().describe(`token exchange: ${ISSUED_TOKEN_TYPE} or absent`),
    assertion: z.string().optional().describe('jwt-bearer: the JWT of a workload issuer'),
    client_secret: z.string().optional().describe('Beside client_id, instead of HTTP Basic'),
    ...clientAssertion,
  })
  .meta({ id: 'TokenRequest' });

/** Source: Specification, "Token response". The client credentials grant returns no refresh token. */
export const tokenAnswerSchema = z
  .strictObject({
    access_token: z.string(),
    refresh_token: z.string().optional().describe('Of the refresh grant only; the one before is spent'),
    issued_token_type: z.string().optional().describe('Of a token exchange only (RFC 8693)'),
    token_type: z.enum(['Bearer', 'DPoP']),
    expires_in: z.int().describe('Seconds'),
    scope: z.string().describe('The granted scopes, sorted, separated by spaces'),
  })
  .meta({ id: 'TokenResponse' });
