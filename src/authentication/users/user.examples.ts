// Examples of users for openapi.json.

export const FORGOTTEN_USERS = {
  user: {
    summary: 'A user of a trusted issuer',
    value: { subject: { issuer: 'https://login.example.com', sub: 'user-4711' } },
  },
} as const;
