// The keys of a workload issuer that are fetched: when, what the tenant can read of it, and what an unknown one means.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createFetchNote } from '../../../src/authentication/trusted-issuers/fetch-note.service.ts';
import type { Tenant } from '../../../src/platform/context.ts';
import { createTestAgent, createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { requestTo } from '../tokens/accounts.ts';
import { answerKeys, newKey, startJwksServer } from '../trusted-issuers/identity-provider.ts';
import { createWorkloadRooms } from './workload-rooms.ts';

const ISSUER = 'https://kubernetes.example';
const AUDIENCE = 'https://id.example';
const SUBJECT = 'system:serviceaccount:shop:buyer';

const test = await useTestDatabase();
let tenant: Tenant;
let agentId: string;

const rooms = createWorkloadRooms(test.database);
const provider = await newKey('RS256');
afterAll(() => rooms.closeWorkloads());
beforeEach(async () => {
  const context = await createTestTenant(rooms);
  ({ tenant } = context);
  agentId = (await createTestAgent(rooms, context, { scopes: ['openid'] })).agent.id;
});

const trust = (jwksUri: string) =>
  rooms.workloadIssuers.create(requestTo(tenant), {
    issuer: ISSUER,
    jwksUri,
    audiences: [AUDIENCE],
    rules: [{ agentId, claims: { sub: SUBJECT } }],
  });

const assert = (header: Record<string, unknown> = {}) =>
  provider.sign({ iss: ISSUER, sub: SUBJECT, aud: AUDIENCE, jti: randomUUID() }, header);

const refusal = (assertion: string) => {
  const parameters = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  return rooms.tokenEndpoint.requestToken(requestTo(tenant), { authorization: undefined, parameters }).then(
    () => 'accepted',
    ({ code, message }: Error & { code: string }) => `${code}: ${message}`,
  );
};

const fetchesOf = async (id: string) => {
  const { rows } = await test.database.query<{ outcome: string; actor_kind: string; data: object }>(
    `SELECT outcome, actor_kind, data FROM audit_log
     WHERE target_id = $1 AND action = 'workload_issuer.keys.fetched' ORDER BY id`,
    [id],
  );
  return rows;
};

describe('the keys of an issuer', () => {
  it('that are fetched are fetched once for many assertions, and kept while the issuer is away', async () => {
    const server = await startJwksServer(answerKeys([provider.jwk]));
    await trust(server.uri);
    const texts = await Promise.all(Array.from({ length: 10 }, () => assert()));
    expect(new Set(await Promise.all(texts.map((text) => refusal(text))))).toEqual(new Set(['accepted']));
    expect(server.requests).toBe(1);
    await server.close();
    expect(await refusal(await assert())).toBe('accepted');
    // An unknown key may be a new one: nothing is known while its issuer is not asked again.
    expect(await refusal(await assert({ kid: 'new' }))).toMatch(/^temporarily_unavailable/);
  });

  it('that cannot be fetched let nothing through', async () => {
    const server = await startJwksServer(answerKeys([provider.jwk]));
    await server.close();
    await trust(server.uri);
    expect(await refusal(await assert())).toMatch(/^temporarily_unavailable/);
  });

  it('that cannot be fetched are explained to the tenant, until another address is given', async () => {
    const server = await startJwksServer(answerKeys([provider.jwk]));
    const { id, fetchedAt } = await trust(server.uri);
    const read = () => rooms.workloadIssuers.get(requestTo(tenant), id);
    expect(fetchedAt).toBeNull();
    const before = await read();
    expect(await refusal(await assert())).toBe('accepted');
    const good = await read();
    expect(good).toEqual({ ...before, fetchedAt: expect.any(Date), fetchError: null });
    const other = await startJwksServer((_request, response) => response.writeHead(302).end());
    const change = { jwksUri: other.uri };
    expect(await rooms.workloadIssuers.update(requestTo(tenant), id, change)).toMatchObject({
      fetchedAt: null,
    });
    expect(await refusal(await assert())).toMatch(/last_fetch of the issuer says why/);
    expect(await read()).toMatchObject({
      fetchedAt: expect.any(Date),
      fetchError: 'the answer has another status than 200 (http:302)',
    });
    expect(await fetchesOf(id)).toEqual([
      {
        outcome: 'failure',
        actor_kind: 'service',
        data: { issuer: ISSUER, error: 'the answer has another status than 200 (http:302)' },
      },
    ]);
    await Promise.all([server.close(), other.close()]);
  });

  it('are in the audit log when their fetches begin to fail, and when they succeed again', async () => {
    const { id } = await trust('https://kubernetes.example/keys');
    const note = createFetchNote('workload_issuer', { ...rooms, database: test.database });
    const fetched = { id, tenantId: tenant.id, jwksUri: 'https://kubernetes.example/keys' };
    for (const error of [null, 'no answer', 'another', null, null]) await note(fetched, error);
    await note({ ...fetched, jwksUri: 'https://kubernetes.example/old' }, 'no answer');
    expect((await fetchesOf(id)).map(({ outcome, data }) => [outcome, data])).toEqual([
      ['failure', { issuer: ISSUER, error: 'no answer' }],
      ['success', { issuer: ISSUER }],
    ]);
  });
});
