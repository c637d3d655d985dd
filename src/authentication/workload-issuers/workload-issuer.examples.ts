// Examples of workload issuers for openapi.json.

const AGENT = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';

export const NEW_WORKLOAD_ISSUERS = {
  github: {
    summary: 'GitHub Actions: the deployments of two repositories, a new one and an old one',
    value: {
      issuer: 'https://token.actions.githubusercontent.com',
      jwks_uri: 'https://token.actions.githubusercontent.com/.well-known/jwks',
      audiences: ['https://id.example.com'],
      rules: [
        { agent_id: AGENT, claims: { sub: 'repo:acme@65/shop@74:environment:*' } },
        // Of repositories from before 15 July 2026.
        { agent_id: AGENT, claims: { sub: 'repo:acme/site:environment:*', repository_owner_id: '65' } },
      ],
    },
  },
  kubernetes: {
    summary: 'Kubernetes: a service account',
    value: {
      issuer: 'https://kubernetes.example.com',
      jwks_uri: 'https://kubernetes.example.com/openid/v1/jwks',
      audiences: ['https://id.example.com'],
      rules: [{ agent_id: AGENT, claims: { sub: 'system:serviceaccount:shop:buyer' } }],
    },
  },
  spiffe: {
    summary: 'SPIFFE: the bundle of a trust domain',
    value: {
      issuer: 'spiffe://example.org',
      jwks: {
        keys: [
          {
            kty: 'OKP',
            crv: 'Ed25519',
            x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
            kid: '2026-01',
            use: 'jwt-svid',
          },
        ],
      },
      audiences: ['https://id.example.com'],
      rules: [{ agent_id: AGENT, claims: { sub: 'spiffe://example.org/shop/buyer' } }],
    },
  },
} as const;
