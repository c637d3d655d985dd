// Examples of trusted issuers for openapi.json.

export const NEW_TRUSTED_ISSUERS = {
  fetched: {
    summary: 'With keys that are fetched',
    value: {
      issuer: 'https://login.example.com',
      jwks_uri: 'https://login.example.com/.well-known/jwks.json',
      audiences: ['https://id.example.com'],
    },
  },
  inline: {
    summary: 'With keys that are given',
    value: {
      issuer: 'https://login.example.com',
      jwks: {
        keys: [
          { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: '2026-01' },
        ],
      },
      audiences: ['https://id.example.com'],
    },
  },
} as const;
