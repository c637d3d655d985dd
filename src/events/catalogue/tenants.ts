// Event types of a tenant's users, single sign-on and organizations, which the tenant's systems publish.
import { inCategory, published } from './event-type.ts';
import { EXAMPLE, moment, text, texts } from './fields.ts';

const userId = (description: string) => text(description, EXAMPLE.userId);
const user = { user_id: userId('The user.'), email: text('Address of the user.', 'ada@example.com') };
const connection = {
  connection_id: text('The connection.', 'sso-12'),
  provider: text('The identity provider.', 'https://idp.example.com'),
};
const organization = { org_id: text('The organization.', 'org-7') };
const by = (description: string) => text(description, 'user-1');
const userAddress = text('IP address of the user.', EXAMPLE.address);

export const TENANT_USERS = inCategory('Tenant users', [
  published('tenant_user.invited', 'A user was invited.', {
    ...user,
    role: text('Role that the user will have.', 'member'),
    invited_by: by('Who invited.'),
    expires_at: moment('Until then the invitation can be accepted.'),
  }),
  published('tenant_user.activated', 'A user was activated.', {
    ...user,
    role: text('Role of the user.', 'member'),
  }),
  published('tenant_user.suspended', 'A user was suspended.', {
    ...user,
    reason: text('Why.', 'left the company'),
    suspended_by: by('Who did it.'),
  }),
  published('tenant_user.removed', 'A user was removed.', { ...user, removed_by: by('Who did it.') }),
]);

export const SSO = inCategory('SSO', [
  published('sso.configured', 'A connection was configured.', {
    ...connection,
    protocol: text('`oidc` or `saml`.', 'oidc'),
    configured_by: by('Who did it.'),
  }),
  published('sso.login.success', 'A login by SSO succeeded.', {
    ...connection,
    user_id: userId('The user.'),
    address: userAddress,
  }),
  published('sso.login.failed', 'A login by SSO failed.', {
    ...connection,
    reason: text('Why.', 'assertion_expired'),
    address: userAddress,
  }),
  published('sso.user.provisioned', 'A user was provisioned.', {
    ...connection,
    ...user,
    groups: texts('accounting').describe('Groups of the user.'),
  }),
]);

export const ORGANIZATIONS = inCategory('Organizations', [
  published('org.created', 'An organization was created.', {
    ...organization,
    name: text('Display name.', 'Acme'),
    created_by: by('Who did it.'),
  }),
  published('org.member.added', 'A member was added.', {
    ...organization,
    user_id: userId('The member.'),
    role: text('Role of the member.', 'member'),
  }),
  published('org.member.role_changed', "A member's role changed.", {
    ...organization,
    user_id: userId('The member.'),
    old_role: text('Role before.', 'member'),
    new_role: text('Role from now on.', 'administrator'),
  }),
]);
