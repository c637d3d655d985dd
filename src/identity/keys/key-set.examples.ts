// Example of an agent's public key set for openapi.json: the key of RFC 8037, appendix A.

export const KEY_SETS = {
  ed25519: {
    summary: 'One ed25519 key',
    value: {
      keys: [
        {
          kty: 'OKP',
          crv: 'Ed25519',
          x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
          kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
          use: 'sig',
          alg: 'EdDSA',
        },
      ],
    },
  },
} as const;
