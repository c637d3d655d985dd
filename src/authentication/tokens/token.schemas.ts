// Schema of the answer of the token endpoint.
import { z } from 'zod';

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
