// Examples of delegations for openapi.json.

export const NEW_DELEGATIONS = {
  delegation: {
    summary: 'An agent may act for a user of a trusted issuer',
    value: {
      subject: { issuer: 'https://login.example.com', sub: 'user-4711' },
      agent_id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
      scopes: ['wallet:sign'],
      expires_at: '2027-01-15T12:00:00Z',
    },
  },
} as const;
