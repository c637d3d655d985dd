// Examples of key registration for openapi.json: published test keys, each in several forms.

export const REGISTRATIONS = {
  jwk: {
    summary: 'ed25519 as a JWK',
    value: {
      algorithm: 'ed25519',
      public_key: { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
      label: 'laptop',
    },
  },
  pem: {
    summary: 'ed25519 as an SPKI PEM, as openssl writes it',
    value: {
      algorithm: 'ed25519',
      public_key:
        '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n',
    },
  },
  raw: {
    summary: 'bip340 as its 32 bytes in hex',
    value: {
      algorithm: 'bip340',
      public_key: 'f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9',
    },
  },
} as const;

export const KEYS = {
  registered: {
    summary: 'Registered, and not used yet',
    value: {
      id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1c',
      key_id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1c',
      agent_id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
      algorithm: 'ed25519',
      fingerprint: '21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9',
      jwk_thumbprint: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
      public_key: { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
      label: 'laptop',
      state: 'active',
      verified_at: null,
      sunset_at: null,
      last_used_at: null,
      created_at: '2026-01-15T12:00:00.000Z',
    },
  },
} as const;
