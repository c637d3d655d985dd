// Event types of a tenant's users, single sign-on and organizations, which the tenant's systems publish.
import { z } from 'zod';
import { inCategory, published } from './event-type.ts';
import { EXAMPLE, moment, text } from './fields.ts';

const user = { user_id: text('The user.'), email: text('Address of the user.') };
const connection = {
  connection_id: text('The connection.'),
  provider: text('The identity provider.'),
};
const organization = { org_id: text('The organization.') };

const USER = { user_id: EXAMPLE.userId, email: 'ada@example.com' };
const CONNECTION = { connection_id: 'sso-12', provider: 'https://idp.example.com' };
const ORGANIZATION = { org_id: 'org-7' };

export const TENANT_USERS = inCategory('Tenant users', [
  published(
    'tenant_user.invited',
    'A user was invited.',
    {
      ...user,
      role: text('Role that the user will have.'),
      invited_by: text('Who invited.'),
      expires_at: moment('Until then the invitation can be accepted.'),
    },
    { ...USER, role: 'member', invited_by: 'user-1', expires_at: EXAMPLE.moment },
  ),
  published(
    'tenant_user.activated',
    'A user was activated.',
    { ...user, role: text('Role of the user.') },
    { ...USER, role: 'member' },
  ),
  published(
    'tenant_user.suspended',
    'A user was suspended.',
    { ...user, reason: text('Why.'), suspended_by: text('Who did it.') },
    { ...USER, reason: 'left the company', suspended_by: 'user-1' },
  ),
  published(
    'tenant_user.removed',
    'A user was removed.',
    { ...user, removed_by: text('Who did it.') },
    { ...USER, removed_by: 'user-1' },
  ),
]);

export const SSO = inCategory('SSO', [
  published(
    'sso.configured',
    'A connection was configured.',
    { ...connection, protocol: text('`oidc` or `saml`.'), configured_by: text('Who did it.') },
    { ...CONNECTION, protocol: 'oidc', configured_by: 'user-1' },
  ),
  published(
    'sso.login.success',
    'A login by SSO succeeded.',
    { ...connection, user_id: text('The user.'), address: text('IP address of the user.') },
    { ...CONNECTION, user_id: EXAMPLE.userId, address: EXAMPLE.address },
  ),
  published(
    'sso.login.failed',
    'A login by SSO failed.',
    { ...connection, reason: text('Why.'), address: text('IP address of the user.') },
    { ...CONNECTION, reason: 'assertion_expired', address: EXAMPLE.address },
  ),
  published(
    'sso.user.provisioned',
    'A user was provisioned.',
    { ...connection, ...user, groups: z.array(z.string()).describe('Groups of the user.') },
    { ...CONNECTION, ...USER, groups: ['accounting'] },
  ),
]);

export const ORGANIZATIONS = inCategory('Organizations', [
  published(
    'org.created',
    'An organization was created.',
    { ...organization, name: text('Display name.'), created_by: text('Who did it.') },
    { ...ORGANIZATION, name: 'Acme', created_by: 'user-1' },
  ),
  published(
    'org.member.added',
    'A member was added.',
    { ...organization, user_id: text('The member.'), role: text('Role of the member.') },
    { ...ORGANIZATION, user_id: EXAMPLE.userId, role: 'member' },
  ),
  published(
    'org.member.role_changed',
    "A member's role changed.",
    {
      ...organization,
      user_id: text('The member.'),
      old_role: text('Role before.'),
      new_role: text('Role from now on.'),
    },
    { ...ORGANIZATION, user_id: EXAMPLE.userId, old_role: 'member', new_role: 'administrator' },
  ),
]);
