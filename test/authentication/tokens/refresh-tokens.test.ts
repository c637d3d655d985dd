// Refresh tokens at rest: how they are stored, and what ends them.
import { describe, expect, it } from 'vitest';
import { hashSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts } from './accounts.ts';
import { storeRefreshToken } from './new-refresh-token.ts';

const test = await useTestDatabase();
const accounts = createAccounts(test.database);

const tenantId = newId();

const grant = (agentId: string, keyId: string) => ({
  tenantId,
  agentId,
  keyId,
  scopes: ['email', 'openid'],
  audience: 'https://api.example.com',
  clientId: 'service-agent',
});
const read = async (token: string) => {
  const { rows } = await test.database.query<Record<string, unknown> & { seconds: number }>(
    `SELECT *, extract(epoch FROM family_expires_at - created_at)::float AS seconds FROM refresh_tokens WHERE hash = $1`,
    [hashSecret(token)],
  );
  return rows[0];
};

describe('a refresh token', () => {
  it('is 256 random bits of which only the hash is stored, the first of a family with an end of its own', async () => {
    const input = grant(newId(), newId());
    const token = await storeRefreshToken(accounts.tokens, test.database, input);
    expect(token).toMatch(/^[\w-]{43}$/);
    const row = await read(token);
    expect(row).toMatchObject({
      tenant_id: input.tenantId,
      agent_id: input.agentId,
      key_id: input.keyId,
      scopes: ['email', 'openid'],
      audience: 'https://api.example.com',
      client_id: 'service-agent',
      jkt: null,
      used_at: null,
      revoked_at: null,
      seconds: 3_600,
    });
    expect(row?.family_id).toBe(row?.id);
    expect(JSON.stringify(row)).not.toContain(token);
  });

  it('is stored with its transaction only', async () => {
    let token = '';
    await expect(
      test.database.transaction({}, async (unit) => {
        token = await storeRefreshToken(accounts.tokens, unit, grant(newId(), newId()));
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await read(token)).toBeUndefined();
  });

  it('of another tenant stays, whatever the ids', async () => {
    const { tokens } = accounts;
    const [agent, key] = [newId(), newId()];
    const token = await storeRefreshToken(tokens, test.database, grant(agent, key));
    const elsewhere = { tenantId: newId() };
    await test.database.transaction({}, async (unit) => {
      expect(await tokens.revokeTokensOfAgent(unit, { ...elsewhere, id: agent }, 'x')).toBe(0);
      expect(await tokens.revokeTokensOfKey(unit, { ...elsewhere, agentId: agent, id: key }, 'x')).toBe(0);
    });
    expect(await read(token)).toMatchObject({ revoked_at: null });
  });

  it('ends with its agent or its key, once, with the reason, in either kind of transaction', async () => {
    const [agent, otherAgent, key, otherKey] = [newId(), newId(), newId(), newId()];
    const create = (agentId: string, keyId: string) =>
      storeRefreshToken(accounts.tokens, test.database, grant(agentId, keyId));
    const [one, two, three] = [
      await create(agent, key),
      await create(agent, otherKey),
      await create(otherAgent, key),
    ];
    await test.database.transaction({}, async (unit) => {
      const ended = { tenantId, id: otherKey, agentId: agent };
      expect(await accounts.tokens.revokeTokensOfKey(unit, ended, 'key_revoked')).toBe(1);
    });
    await test.database.transaction({}, async (transaction) => {
      const owner = { tenantId, id: agent };
      expect(await accounts.tokens.revokeTokensOfAgent(transaction, owner, 'agent_deleted')).toBe(1);
      expect(await accounts.tokens.revokeTokensOfAgent(transaction, owner, 'again')).toBe(0);
    });
    expect(await read(one)).toMatchObject({ revoked_reason: 'agent_deleted', revoked_at: expect.any(Date) });
    expect(await read(two)).toMatchObject({ revoked_reason: 'key_revoked' });
    expect(await read(three)).toMatchObject({ revoked_at: null });
  });
});
