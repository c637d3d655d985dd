// The forms of the token routes. openapi.json has them as they must be; the routes accept any form, so that the service
// can answer a wrong one with an OAuth error.
import { z } from 'zod';
import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import { ASSERTION_TYPE } from './client-method.ts';
import { ACTOR_TYPES, ISSUED_TOKEN_TYPE, JWT_BEARER_GRANT, SUBJECT_TYPES } from './grant-types.ts';

/** One allowed value. An empty parameter counts as absent (RFC 6749 §3.2), so the schema is not a constant. */
const optionalConstant = (value: string) => z.string().optional().describe(`\`${value}\`, or absent`);

const clientAuthentication = {
  client_id: z.string().optional().describe('The id of the application; needed beside `client_secret`'),
  client_secret: z
    .string()
    .optional()
    .describe('One of its secrets, instead of HTTP Basic; refused under the profile `fapi2`'),
  client_assertion: z
    .string()
    .optional()
    .describe(
      '`private_key_jwt` (RFC 7523), instead of HTTP Basic: a JWT that a key of the application signed',
    ),
  client_assertion_type: optionalConstant(ASSERTION_TYPE),
};

const token = z.string().min(1);
const scope = z.string().optional();
const resource = z.string().optional();

const clientCredentials = z
  .object({
    grant_type: z.literal('client_credentials'),
    scope: scope.describe("Space-separated; all of the application's scopes when absent"),
    ...clientAuthentication,
  })
  .meta({
    id: 'ClientCredentialsRequest',
    title: 'Client credentials',
    description:
      'RFC 6749 §4.4. The client authenticates; its configuration says the audience, so that `audience` is refused.',
  });

const refreshToken = z
  .object({
    grant_type: z.literal('refresh_token'),
    refresh_token: token.describe('The token to exchange; it is spent by that'),
    scope: scope.describe('Space-separated; a part of its scopes, all of them when absent'),
    resource: resource.describe(
      "Which of the agent's audiences the access token is for (RFC 8707); that of the authentication when absent",
    ),
    client_id: optionalConstant('service-agent'),
  })
  .meta({
    id: 'RefreshTokenRequest',
    title: 'Refresh token',
    description:
      'RFC 6749 §6, for agents: without client authentication, and with a proof by its key for a bound token.',
  });

const tokenExchange = z
  .object({
    grant_type: z.literal(TOKEN_EXCHANGE_GRANT),
    subject_token: token.describe('The token of whom the agent acts for, by this issuer or a trusted one'),
    subject_token_type: z.enum(SUBJECT_TYPES),
    actor_token: token.describe("The agent's own access token"),
    actor_token_type: z.enum(ACTOR_TYPES),
    requested_token_type: optionalConstant(ISSUED_TOKEN_TYPE),
    scope: scope.describe('Space-separated; all that user, agent and delegation allow when absent'),
    resource: resource.describe("Which of the agent's audiences the token is for (RFC 8707)"),
    audience: z.string().optional().describe('As `resource`, for an audience that is no URI'),
    ...clientAuthentication,
  })
  .meta({
    id: 'TokenExchangeRequest',
    title: 'Token exchange',
    description: 'RFC 8693: a token with which an agent acts for a user. It needs a delegation.',
  });

const jwtBearer = z
  .object({
    grant_type: z.literal(JWT_BEARER_GRANT),
    assertion: token.describe('A JWT of a workload issuer: of Kubernetes, GitHub Actions, or a JWT-SVID'),
    scope: scope.describe("Space-separated; all of the agent's scopes when absent"),
    resource: resource.describe("Which of the agent's audiences the token is for (RFC 8707)"),
  })
  .meta({
    id: 'JwtBearerRequest',
    title: 'Assertion of a workload',
    description:
      'RFC 7523 §2.1: a token for the agent that the rules of the workload issuer name, without client authentication and without a refresh token. An assertion is good once.',
  });

/** The requests of `POST /oauth/token`, one for each grant. */
export const tokenRequestForm = z
  .discriminatedUnion('grant_type', [clientCredentials, refreshToken, tokenExchange, jwtBearer])
  .meta({ id: 'TokenRequest' });

/** The form of introspection and revocation (RFC 7662 §2.1, RFC 7009 §2.1). */
export const tokenParametersForm = z
  .object({
    token: token.describe('An access or refresh token'),
    token_type_hint: z.string().optional().describe('access_token or refresh_token; not needed'),
    ...clientAuthentication,
  })
  .meta({ id: 'TokenParameters' });

/** The parameters of forms, each a text or absent. Unknown parameters are ignored (RFC 6749 §3.2). */
const parametersOf = (forms: readonly z.ZodObject[]) => {
  const names = forms.flatMap(({ shape }) => Object.keys(shape));
  return z.object(Object.fromEntries(names.map((name) => [name, z.string().optional()])));
};

export const tokenRequestSchema = parametersOf(tokenRequestForm.options);
export const tokenParametersSchema = parametersOf([tokenParametersForm]);
