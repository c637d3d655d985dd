// Examples of the token routes for openapi.json. The tokens are shortened and not valid.

import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import { ASSERTION_TYPE } from './client-method.ts';
import { ISSUED_TOKEN_TYPE, TOKEN_TYPES } from './grant-types.ts';

const ACCESS_TOKEN =
  'eyJhbGciOiJFUzI1NiIsImtpZCI6IuKApiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiLigKYifQ.c2lnbmF0dXJl';
const REFRESH_TOKEN = 'J0m9Zs4nV1cXq7uT2yB5eR8wK3dF6gH0aLpNvQxYzUk';

/** Requests of `POST /oauth/token`, one for each grant and method. */
export const TOKEN_REQUESTS = {
  client_credentials: {
    summary: 'Client credentials, with HTTP Basic',
    value: { grant_type: 'client_credentials', scope: 'agents:read' },
  },
  client_secret_post: {
    summary: 'Client credentials, with the secret in the form',
    value: {
      grant_type: 'client_credentials',
      client_id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
      client_secret: 'eW91ciBjbGllbnQgc2VjcmV0IGdvZXMgaGVyZSE',
    },
  },
  private_key_jwt: {
    summary: 'Client credentials, with a signed assertion',
    value: {
      grant_type: 'client_credentials',
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: 'eyJhbGciOiJFUzI1NiJ9.eyJhdWQiOiLigKYifQ.c2lnbmF0dXJl',
    },
  },
  refresh_token: {
    summary: "An agent's refresh token, for a part of its scopes",
    value: { grant_type: 'refresh_token', refresh_token: REFRESH_TOKEN, scope: 'openid' },
  },
  token_exchange: {
    summary: 'A token with which an agent acts for a user',
    value: {
      grant_type: TOKEN_EXCHANGE_GRANT,
      subject_token: ACCESS_TOKEN,
      subject_token_type: TOKEN_TYPES.accessToken,
      actor_token: ACCESS_TOKEN,
      actor_token_type: TOKEN_TYPES.accessToken,
      scope: 'wallet:sign',
    },
  },
} as const;

export const TOKEN_ANSWERS = {
  client_credentials: {
    summary: 'For an application',
    value: { access_token: ACCESS_TOKEN, token_type: 'Bearer', expires_in: 300, scope: 'agents:read' },
  },
  refresh_token: {
    summary: 'For an agent whose tokens are bound to a key',
    value: {
      access_token: ACCESS_TOKEN,
      refresh_token: REFRESH_TOKEN,
      token_type: 'DPoP',
      expires_in: 300,
      scope: 'openid',
    },
  },
  token_exchange: {
    summary: 'For an agent that acts for a user',
    value: {
      access_token: ACCESS_TOKEN,
      issued_token_type: ISSUED_TOKEN_TYPE,
      token_type: 'Bearer',
      expires_in: 300,
      scope: 'wallet:sign',
    },
  },
} as const;

export const TOKEN_PARAMETERS = {
  access_token: { summary: 'An access token', value: { token: ACCESS_TOKEN } },
  refresh_token: {
    summary: 'A refresh token, with the hint',
    value: { token: REFRESH_TOKEN, token_type_hint: 'refresh_token' },
  },
} as const;

export const INTROSPECTIONS = {
  active: {
    summary: "An agent's access token",
    value: {
      active: true,
      token_type: 'Bearer',
      iss: 'https://id.example.com',
      sub: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
      aud: 'https://api.example.com',
      exp: 1789000300,
      iat: 1789000000,
      jti: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1c',
      scope: 'openid wallet:sign',
      client_id: 'service-agent',
      subject_type: 'agent',
      agent: { name: 'buyer', capabilities: ['web'] },
      tenant_id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1d',
    },
  },
  inactive: { summary: 'Any other: expired, revoked, unknown', value: { active: false } },
} as const;
