// Examples of applications for openapi.json.

export const NEW_APPLICATIONS = {
  secret: {
    summary: 'With a secret, for publishing events',
    value: { name: 'shop backend', scopes: ['events:write'] },
  },
  key: {
    summary: 'With a key for private_key_jwt',
    value: {
      name: 'deployment',
      scopes: ['agents:read', 'agents:write'],
      jwks: {
        keys: [
          { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: '2026-01' },
        ],
      },
    },
  },
} as const;
