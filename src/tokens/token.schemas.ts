// Shapes of the token endpoint. Unknown parameters are let through: RFC 6749 §3.2 wants them ignored.
import { z } from 'zod';

/** Form parameters of `POST /oauth/token`. */
export const tokenRequestSchema = z
  .object({
    grant_type: z.string().optional().describe('client_credentials'),
    scope: z.string().optional().describe("Space-separated; all of the application's scopes when absent"),
    client_id: z.string().optional(),
    audience: z.string().optional().describe("Refused: the audience is the application's"),
    client_secret: z.string().optional().describe('Refused: authenticate with HTTP Basic'),
    client_assertion: z.string().optional().describe('Refused: authenticate with HTTP Basic'),
    client_assertion_type: z.string().optional().describe('Refused: authenticate with HTTP Basic'),
  })
  .meta({ id: 'TokenRequest' });

/** Source: Specification, "Token response"; client credentials have no refresh token. */
export const tokenAnswerSchema = z
  .strictObject({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds'),
    scope: z.string().describe('The granted scopes, sorted, separated by spaces'),
  })
  .meta({ id: 'ClientCredentialsTokenResponse' });
