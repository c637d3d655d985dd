// Examples of agents for openapi.json.

export const NEW_AGENTS = {
  named: { summary: 'With all scopes that agents may have', value: { name: 'buyer' } },
  limited: {
    summary: 'Limited to its job',
    value: {
      name: 'buyer',
      description: 'Orders office supplies',
      owner: 'purchasing@example.com',
      purpose: 'Keeps the offices supplied within the monthly budget',
      capabilities: ['web', 'mcp'],
      audience: 'https://api.example.com',
      scopes: ['openid', 'wallet:sign'],
      metadata: { cost_center: '4711' },
    },
  },
} as const;

export const AGENTS = {
  registered: {
    summary: 'Correctly registered: active, with a verified key, and limited to its job',
    value: {
      id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
      name: 'buyer',
      description: 'Orders office supplies',
      owner: 'purchasing@example.com',
      purpose: 'Keeps the offices supplied within the monthly budget',
      capabilities: ['web', 'mcp'],
      status: 'active',
      audience: 'https://api.example.com',
      audiences: [],
      scopes: ['openid', 'wallet:sign'],
      metadata: { cost_center: '4711' },
      dpop_bound_access_tokens: false,
      open_enrollment_tokens: 0,
      created_at: '2026-01-15T12:00:00.000Z',
      updated_at: '2026-01-15T12:00:00.000Z',
      registration: { complete: true, active: true, verified: true, scoped: true, audited: true },
    },
  },
} as const;
