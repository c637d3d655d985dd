// Examples of key registration for openapi.json: the same keys in several forms. They are published test keys and nobody's own.

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
