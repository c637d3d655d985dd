// A suspension that lasts longer than the decisions of the revocation feed do, while somebody else holds the tenant's
// issuer key.
import { expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { basic, provisionTenant, requestTo } from '../../authentication/tokens/accounts.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createOperatorRooms } from './operator-rooms.ts';

const test = await useTestDatabase();
const rooms = createOperatorRooms(test.database);

it('a token that is forged with the stolen key is active at no time of the suspension', async () => {
  const { tenant, credentials } = await provisionTenant(rooms, `t-${newId()}`);
  const authorization = basic(credentials.client_id, credentials.client_secret);
  const isActive = async () => {
    const forged = await rooms.tokens.issueAccessToken(tenant, {
      sub: tenant.id,
      clientId: tenant.id,
      audience: tenant.audience,
      scopes: ['openid'],
    });
    const context = requestTo((await rooms.tenants.bySlug(tenant.slug)) ?? tenant);
    const parameters = { token: forged.accessToken };
    const { active } = await rooms.introspection.introspect(context, { authorization, parameters });
    return active;
  };
  const operator = (verb: string) =>
    rooms.run('operator', 'tenant', verb, tenant.slug, '--reason', 'leak', '--as', 'jo');
  expect(await isActive()).toBe(true);
  await operator('suspend');
  expect(await isActive()).toBe(false);
  // What a purge does 25 hours later.
  await test.database.query('DELETE FROM revocations WHERE tenant_id = $1', [tenant.id]);
  expect(await isActive()).toBe(false);
  await operator('resume');
  expect(await isActive()).toBe(true);
});
