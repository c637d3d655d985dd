// Examples for openapi.json: one complete authentication with the key of RFC 8032 §7.1, test 1.

const KEY_FINGERPRINT = '21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9';
const CHALLENGE_ID = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';

export const CHALLENGE_REQUESTS = {
  challenge: {
    summary: 'A challenge for two scopes',
    value: { key_fingerprint: KEY_FINGERPRINT, scope: 'openid wallet:sign' },
  },
} as const;

export const CHALLENGES = {
  challenge: {
    summary: 'A challenge for an ed25519 key',
    value: {
      id: CHALLENGE_ID,
      challenge_id: CHALLENGE_ID,
      nonce: '6f1d2c3b4a5968778695a4b3c2d1e0f06f1d2c3b4a5968778695a4b3c2d1e0f0',
      timestamp: '2026-01-15T12:00:00.000Z',
      expires_at: '2026-01-15T12:05:00.000Z',
      audience: 'https://id.example.com',
      client_id: 'service-agent',
      scope_hash: '8c2d9af2e32d72205d12c17214ddc9205a24f8eddc61b6a7740f78410a6c3c20',
      key_fingerprint: KEY_FINGERPRINT,
      algorithm: 'ed25519',
    },
  },
} as const;

export const VERIFICATIONS = {
  ed25519: {
    summary: 'The signature of the example of a challenge',
    value: {
      challenge_id: CHALLENGE_ID,
      signature: 'tbJpx9dwlvOZeUSmkenTnyz9aN/nRAmjxcUzRHYuZLpennPiJTmOvkQ/w0SvHssaFnBopFEF78Toq+lnyeJYDQ==',
      algorithm: 'ed25519',
    },
  },
} as const;

export const AGENT_TOKENS = {
  bearer: {
    summary: 'Tokens without a DPoP proof',
    value: {
      access_token:
        'eyJhbGciOiJFUzI1NiIsImtpZCI6IuKApiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiLigKYifQ.c2lnbmF0dXJl',
      refresh_token: 'J0m9Zs4nV1cXq7uT2yB5eR8wK3dF6gH0aLpNvQxYzUk',
      token_type: 'Bearer',
      expires_in: 300,
      scope: 'openid wallet:sign',
    },
  },
} as const;
