// A client that a process remembers: any change of it, made by another process, holds for the very next token.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../setup/database.ts';
import { basic, createAccounts, insertAgent, provisionTenant, requestTo } from './accounts.ts';

const test = await useTestDatabase();
const statements: string[] = [];
/** The answer to the next commit of audit entries is lost. */
let loses = false;

const query = async <Row extends object>(
  text: string,
  values?: readonly unknown[],
  members?: 'camelCase',
) => {
  statements.push(text);
  const result = await test.database.query<Row>(text, values, members);
  if (!loses || !text.includes('INSERT INTO audit_log')) return result;
  loses = false;
  throw new Error('Connection terminated unexpectedly');
};
const masterKeys = [{ id: 'test', key: randomBytes(32) }];
const asking = createAccounts({ ...test.database, query }, { masterKeys, clientFailures: 100 });
const changing = createAccounts(test.database, { masterKeys });
const demo = await provisionTenant(changing, 'demo');

afterAll(async () => {
  await asking.clientRecords.close();
  await changing.clientRecords.close();
});

const contextOf = () => requestTo(demo.tenant);

/** A client that one process remembers and another is about to change. */
async function rememberClient(agentId?: string) {
  const { application, clientSecret } = await changing.applications.create(contextOf(), {
    name: 'remembered',
    scopes: ['openid', 'email'],
    agentId,
  });
  const authorization = basic(application.id, clientSecret);
  expect(await ask(authorization)).toMatchObject({ scope: 'email openid' });
  expect(await ask(authorization)).toMatchObject({ scope: 'email openid' });
  return { id: application.id, authorization, secretId: application.secrets[0]?.id ?? '' };
}

async function ask(authorization: string, scope?: string) {
  const { answer } = await asking.tokenEndpoint.requestToken(contextOf(), {
    authorization,
    parameters: { grant_type: 'client_credentials', scope },
  });
  return answer;
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    jti: string;
    agent?: unknown;
    aud: string;
  };

const entriesOf = async (token: string) =>
  (
    await test.database.query<{ action: string }>(
      'SELECT action FROM audit_log WHERE token_id = $1 ORDER BY id',
      [claimsOf(token).jti],
    )
  ).rows.map(({ action }) => action);

const change = (sql: string, id: string) => test.database.query(sql, [id]);

beforeEach(() => test.database.query('DELETE FROM subscriptions'));

describe('a remembered client', () => {
  it('gets its token by one statement, which writes both audit entries', async () => {
    const { authorization } = await rememberClient();
    await ask(authorization);
    statements.length = 0;
    const { access_token } = await ask(authorization);
    expect(statements.filter((text) => !text.includes('issuer_keys'))).toEqual([
      expect.stringContaining('INSERT INTO audit_log'),
    ]);
    expect(await entriesOf(access_token)).toEqual(['auth.login.success', 'auth.token.issued']);
  });

  it.each<[string, string, string]>([
    [
      'a secret that was removed',
      'UPDATE application_secrets SET expires_at = now() WHERE application_id = $1',
      'invalid_client',
    ],
    [
      'a secret whose row is gone',
      'DELETE FROM application_secrets WHERE application_id = $1',
      'invalid_client',
    ],
    [
      'an application that was deleted',
      'UPDATE applications SET deleted_at = now() WHERE id = $1',
      'invalid_client',
    ],
    [
      'a grant that was withdrawn',
      "UPDATE applications SET grant_types = '{}' WHERE id = $1",
      'unauthorized_client',
    ],
    [
      'a scope that was withdrawn',
      "UPDATE applications SET scopes = '{openid}' WHERE id = $1",
      'invalid_scope',
    ],
  ])('is refused for %s', async (_, sql, code) => {
    const { id, authorization } = await rememberClient();
    await change(sql, id);
    await expect(ask(authorization, 'email')).rejects.toMatchObject({ code });
    await expect(ask(authorization, 'email')).rejects.toMatchObject({ code });
  });

  it.each<[string, string, string]>([
    ['is suspended', "UPDATE agents SET status = 'suspended' WHERE id = $1", 'policy_denied'],
    ['was deleted', 'UPDATE agents SET deleted_at = now() WHERE id = $1', 'invalid_client'],
    ['lost the scope', "UPDATE agents SET scopes = '{openid}' WHERE id = $1", 'invalid_scope'],
  ])('is refused when its agent %s', async (_, sql, code) => {
    const agentId = await insertAgent(test.database, demo.tenant.id, ['openid', 'email']);
    const { authorization } = await rememberClient(agentId);
    await change(sql, agentId);
    await expect(ask(authorization, 'email')).rejects.toMatchObject({ code });
  });

  it('is refused through the service of another process, as soon as that has answered', async () => {
    const context = contextOf();
    const removed = await rememberClient();
    await changing.applications.removeSecret(context, removed.id, removed.secretId);
    await expect(ask(removed.authorization)).rejects.toMatchObject({ code: 'invalid_client' });
    const rotated = await rememberClient();
    const { clientSecret } = await changing.applications.rotateSecret(context, rotated.id, 0);
    await expect(ask(rotated.authorization)).rejects.toMatchObject({ code: 'invalid_client' });
    expect(await ask(basic(rotated.id, clientSecret))).toMatchObject({ token_type: 'Bearer' });
    const deleted = await rememberClient();
    await changing.applications.remove(context, deleted.id);
    await expect(ask(deleted.authorization)).rejects.toMatchObject({ code: 'invalid_client' });
  });

  it('keeps no secret beyond its end, which only the database judges', async () => {
    const { id, authorization } = await rememberClient();
    await change(
      "UPDATE application_secrets SET expires_at = clock_timestamp() + interval '300 ms' WHERE application_id = $1",
      id,
    );
    expect(await ask(authorization)).toMatchObject({ token_type: 'Bearer' });
    await test.database.query('SELECT pg_sleep(0.4)');
    await expect(ask(authorization)).rejects.toMatchObject({ code: 'invalid_client' });
  });

  it('gets what its changed rows say: another audience, another agent, other capabilities', async () => {
    const agentId = await insertAgent(test.database, demo.tenant.id, ['openid', 'email']);
    const { id, authorization } = await rememberClient(agentId);
    await change("UPDATE applications SET audience = 'https://other.example' WHERE id = $1", id);
    expect(claimsOf((await ask(authorization)).access_token).aud).toBe('https://other.example');
    await change("UPDATE agents SET capabilities = '{mail}' WHERE id = $1", agentId);
    expect(claimsOf((await ask(authorization)).access_token).agent).toEqual({
      name: 'Robot',
      capabilities: ['mail'],
    });
    await change('UPDATE applications SET agent_id = NULL WHERE id = $1', id);
    expect(claimsOf((await ask(authorization)).access_token).agent).toBeUndefined();
  });

  it('gets a second secret accepted immediately, and a wrong one refused', async () => {
    const { id, authorization } = await rememberClient();
    const { clientSecret } = await changing.applications.addSecret(contextOf(), id);
    await expect(ask(basic(id, 'wrong'))).rejects.toMatchObject({ code: 'invalid_client' });
    expect(await ask(basic(id, clientSecret))).toMatchObject({ token_type: 'Bearer' });
    expect(await ask(authorization)).toMatchObject({ token_type: 'Bearer' });
  });

  it('has events from the first token after somebody subscribed to them', async () => {
    const { authorization } = await rememberClient();
    await test.database.query(
      `INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed)
       VALUES (gen_random_uuid(), $1, 'https://example.com/', 'example.com', '{auth.*}', '{auth.*}', 'audit', '\\x00')`,
      [demo.tenant.id],
    );
    const { access_token } = await ask(authorization);
    const { rows } = await test.database.query<{ body: Buffer }>(
      "SELECT body FROM events WHERE type = 'auth.token.issued' ORDER BY id DESC LIMIT 1",
    );
    expect(JSON.parse(rows[0]?.body.toString() ?? '{}').data.token_id).toBe(claimsOf(access_token).jti);
    expect(await entriesOf(access_token)).toEqual(['auth.login.success', 'auth.token.issued']);
  });

  it('does not suffer from a changed one in its batch', async () => {
    const agentId = await insertAgent(test.database, demo.tenant.id, ['openid', 'email']);
    const [steady, changed] = [await rememberClient(), await rememberClient(agentId)];
    await change("UPDATE agents SET status = 'suspended' WHERE id = $1", agentId);
    const asked = [steady, changed, steady, changed].map(({ authorization }) =>
      ask(authorization).then(
        ({ access_token }) => entriesOf(access_token),
        ({ code }: { code: string }) => code,
      ),
    );
    const granted = ['auth.login.success', 'auth.token.issued'];
    expect(await Promise.all(asked)).toEqual([granted, 'policy_denied', granted, 'policy_denied']);
  });

  it('has its audit entries once when the answer to their commit is lost', async () => {
    const { authorization } = await rememberClient();
    loses = true;
    const { access_token } = await ask(authorization);
    expect(loses).toBe(false);
    expect(await entriesOf(access_token)).toEqual(['auth.login.success', 'auth.token.issued']);
  });

  it('is another one at another tenant', async () => {
    const { authorization } = await rememberClient();
    const other = await provisionTenant(changing, 'other');
    const request = { authorization, parameters: { grant_type: 'client_credentials' } };
    await expect(asking.tokenEndpoint.requestToken(requestTo(other.tenant), request)).rejects.toMatchObject({
      code: 'invalid_client',
    });
  });
});
