// The event types that this deployment knows, and which of them only the service itself may emit. A tenant's own types need no entry.

export type CatalogueEntry = {
  readonly type: string;
  readonly category: string;
  readonly description: string;
};

type Listed = Readonly<Record<string, string>>;

/** Emitted by the service, and therefore refused from publishers. Source: Specification, "Event types". */
const EMITTED: Readonly<Record<string, Listed>> = {
  Authentication: {
    'auth.login.success': 'An agent or an application has authenticated.',
    'auth.login.failure': 'An authentication with a known key or client failed.',
    'auth.token.issued': 'An access token was issued.',
    'auth.token.revoked': 'A token was revoked.',
  },
  Administration: {
    'admin.agent.registered': 'An agent was created.',
    'admin.agent.updated': 'An agent was changed.',
    'admin.agent.suspended': 'An agent was suspended.',
    'admin.agent.reactivated': 'A suspended agent is active again.',
    'admin.agent.deleted': 'An agent was deleted.',
    'admin.agent.key.registered': 'A key was registered for an agent.',
    'admin.agent.key.verified':
      "A key has proved itself: its challenge, or its registration's proof, was answered.",
    'admin.agent.key.deprecated': 'A key was deprecated and has a sunset.',
    'admin.agent.key.revoked': 'A key was revoked.',
    'admin.agent.key.rotation_stalled':
      'An agent has not begun to use the new key of a rotation by its deadline.',
    'admin.delegation.revoked': 'A delegation was revoked.',
  },
  Security: {
    'security.brute_force.detected': 'Many authentications failed in a short time.',
    'security.refresh_token.reuse': 'A spent refresh token was presented again.',
    'security.suspicious_activity':
      'Something happened that a correct client does not do, such as the use of a revoked key.',
  },
  Webhooks: {
    'webhook.test': 'A test delivery that was asked for.',
    'webhook.endpoint.created': 'A subscription was created.',
    'webhook.endpoint.updated': 'A subscription was changed.',
    'webhook.endpoint.activated': 'A subscription is active again.',
    'webhook.endpoint.deactivated': 'A subscription was deactivated.',
    'webhook.endpoint.deleted': 'A subscription was deleted.',
    'webhook.delivery.failed': 'A delivery has failed for good.',
  },
};

/** Named by the specification for a tenant's other systems to publish. Source: Specification, "Event types". */
const PUBLISHED: Readonly<Record<string, Listed>> = {
  Authentication: { 'auth.logout': 'A session ended.' },
  'MFA and risk': {
    'auth.mfa.challenge': 'A second factor was asked for.',
    'auth.mfa.verify': 'A second factor was verified.',
    'auth.adaptive_mfa.triggered': 'A risk rule asked for a second factor.',
  },
  'Tenant users': {
    'tenant_user.invited': 'A user was invited.',
    'tenant_user.activated': 'A user was activated.',
    'tenant_user.suspended': 'A user was suspended.',
    'tenant_user.removed': 'A user was removed.',
  },
  Administration: { 'admin.user.created': 'A user was created.' },
  Vault: {
    'vault.credential.created': 'A credential was stored.',
    'vault.grant.revoked': 'A grant was revoked.',
    'vault.credential.accessed': 'A credential was read.',
  },
  Wallet: {
    'wallet.tx.signed': 'A transaction was signed.',
    'wallet.tx.rejected': 'A transaction was rejected.',
    'wallet.budget.exceeded': 'A spending budget was exceeded.',
  },
  Chain: {
    'chain.ownership.changed': 'An owner changed.',
    'chain.reputation.updated': 'A reputation was updated.',
    'chain.metadata.changed': 'Metadata changed.',
  },
  SSO: {
    'sso.configured': 'A connection was configured.',
    'sso.login.success': 'A login by SSO succeeded.',
    'sso.login.failed': 'A login by SSO failed.',
    'sso.user.provisioned': 'A user was provisioned.',
  },
  Organizations: {
    'org.created': 'An organization was created.',
    'org.member.added': 'A member was added.',
    'org.member.role_changed': "A member's role changed.",
  },
  Commerce: {
    'commerce.payment.pending': 'A buyer payment is created but not confirmed.',
    'commerce.payment.succeeded': 'Payment succeeded.',
    'commerce.payment.failed': 'Checkout did not complete.',
    'commerce.payment.refunded': 'Payment refunded.',
    'commerce.settlement.created': 'Settlement accounting starts for a successful charge.',
    'commerce.settlement.held': 'Funds are in the hold/finality window.',
    'commerce.settlement.released': 'Funds available for payout accounting.',
    'commerce.dispute.opened': 'A dispute opened.',
    'commerce.dispute.closed': 'A dispute closed.',
    'commerce.payout.submitted': 'A tenant payout was submitted.',
    'commerce.payout.paid': 'A payout completed.',
    'commerce.payout.failed': 'A payout failed.',
    'commerce.statement.created': 'A settlement statement was generated.',
  },
};

/** Everything below these belongs to the service, names that do not exist yet included. */
const RESERVED_PREFIXES = ['admin.agent.', 'webhook.'] as const;

const RESERVED_TYPES = new Set(Object.values(EMITTED).flatMap((types) => Object.keys(types)));

/** Whether only the service itself may emit the type. Source: Specification, "Event types". */
export function isReserved(type: string): boolean {
  return RESERVED_TYPES.has(type) || RESERVED_PREFIXES.some((prefix) => type.startsWith(prefix));
}

/** JSON Schema (2020-12) of the types that are reserved. */
export const RESERVED_TYPE = {
  anyOf: [
    { enum: [...RESERVED_TYPES] },
    ...RESERVED_PREFIXES.map((prefix) => ({ pattern: `^${prefix.replaceAll('.', '\\.')}` })),
  ],
};

/** All known types, by category and name. */
export const CATALOGUE: readonly CatalogueEntry[] = [EMITTED, PUBLISHED]
  .flatMap((source) => Object.entries(source))
  .flatMap(([category, types]) =>
    Object.entries(types).map(([type, description]) => ({ type, category, description })),
  )
  .sort((a, b) => (a.type < b.type ? -1 : 1));

/**
 * JSON Schema (2020-12) of a delivery's body for one event type. `data` is an object whose members its publisher decides.
 */
export function bodySchemaOf(type: string): Record<string, unknown> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      event_id: { type: 'string', minLength: 1, maxLength: 128 },
      type: { const: type },
      occurred_at: { type: 'string', format: 'date-time' },
      tenant_id: { type: 'string', format: 'uuid' },
      data: { type: 'object' },
    },
    required: ['event_id', 'type', 'occurred_at', 'tenant_id', 'data'],
    additionalProperties: false,
  };
}
