// Examples of agents for openapi.json.

export const NEW_AGENTS = {
  named: { summary: 'With all scopes that agents may have', value: { name: 'buyer' } },
  limited: {
    summary: 'Limited to its job',
    value: {
      name: 'buyer',
      description: 'Orders office supplies',
      capabilities: ['web', 'mcp'],
      audience: 'https://api.example.com',
      scopes: ['openid', 'wallet:sign'],
      metadata: { cost_center: '4711' },
    },
  },
} as const;
