// What changes nothing is on record too: refused requests, introspections and reads of the log, each bounded.
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { AccessRecordService } from '../../src/audit/access-record.service.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import { newId } from '../../src/platform/database/ids.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { readAudit } from '../identity/agents/agent-rooms.ts';
import { startTenants } from '../isolation/tenants-server.ts';
import { PATIENCE } from '../setup/patience.ts';

const RECORDS = ['auth.access.refused', 'auth.token.introspected', 'audit.read'];

const tenants = await startTenants();
afterAll(() => tenants.close());
afterEach(() => void vi.useRealTimers());

/** The records of accesses of the owner's tenant, once there are as many. */
async function readRecords(least: number) {
  const found = async () =>
    (await readAudit(tenants.database, tenants.owner.credentials.tenant_id)).filter(({ action }) =>
      RECORDS.includes(action),
    );
  await vi.waitFor(async () => expect((await found()).length).toBeGreaterThanOrEqual(least), PATIENCE);
  return found();
}

it('each kind of access is recorded once a minute for each caller', async () => {
  const { owner } = tenants;
  const { client_id: id } = owner.credentials;
  const weak = await owner.post('/oauth/token', { grant_type: 'client_credentials', scope: 'agents:write' });
  const bearer: string = weak.body.access_token;
  for (let times = 0; times < 3; times += 1) {
    expect((await owner.send('POST', '/api/v1/agents', { name: 'R' }, bearer)).status).toBe(403);
    expect((await owner.send('GET', '/api/v1/agents', undefined, bearer)).status).toBe(403);
    expect((await owner.post('/oauth/introspect', { token: bearer })).body.active).toBe(true);
    expect((await owner.send('GET', '/api/v1/audit-logs')).status).toBe(200);
    expect((await owner.send('GET', '/api/v1/audit-logs/checkpoints')).status).toBe(200);
  }
  const line = (await owner.send('GET', '/api/v1/audit-logs?limit=1')).body.data[0];
  expect((await owner.send('GET', `/api/v1/audit-logs/${line.id}`)).status).toBe(200);
  const records = await readRecords(6);
  expect(
    records.map(({ action, data }) => [action, (data as { operation: string }).operation]).sort(),
  ).toEqual([
    ['audit.read', 'getAuditLog'],
    ['audit.read', 'listAuditCheckpoints'],
    ['audit.read', 'listAuditLogs'],
    ['auth.access.refused', 'createAgent'],
    ['auth.access.refused', 'listAgents'],
    ['auth.token.introspected', 'introspectToken'],
  ]);
  for (const record of records)
    expect(record).toMatchObject({
      actor_kind: 'application',
      actor_id: id,
      address: expect.any(String),
      data: { count: 1 },
    });
  expect(
    records.find(({ data }) => (data as { operation: string }).operation === 'createAgent'),
  ).toMatchObject({
    outcome: 'failure',
    reason: 'insufficient_scope',
    data: { detail: expect.stringContaining('wallet:sign') },
  });
  expect(records.find(({ action }) => action === 'audit.read')).toMatchObject({ outcome: 'success' });
});

it('a flood costs one line a minute, which tells its number', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { credentials } = tenants.stranger;
  const accesses = new AccessRecordService({
    database: tenants.database,
    log: createLogger({ logLevel: 'silent', logFormat: 'json' }),
  });
  const context = { requestId: newId(), tenant: { id: credentials.tenant_id }, address: '192.0.2.9' };
  const note = (subject: string) =>
    accesses.note(
      { ...context, principal: principalOf(subject) },
      {
        action: 'audit.read',
        outcome: 'success',
        operation: 'listAuditLogs',
      },
    );
  const [one, other] = [newId(), newId()];
  for (let times = 0; times < 1_000; times += 1) note(one);
  note(other);
  await accesses.settled();
  const counts = async () =>
    (await readAudit(tenants.database, credentials.tenant_id))
      .filter(({ actor_id }) => actor_id === one || actor_id === other)
      .map(({ actor_id, data }) => [actor_id, (data as { count: number }).count]);
  expect(await counts()).toEqual([
    [one, 1],
    [other, 1],
  ]);
  vi.advanceTimersByTime(60_000);
  await accesses.settled();
  expect((await counts()).slice(2)).toEqual([[one, 999]]);
  note(one);
  await accesses.close();
  expect((await counts()).slice(3)).toEqual([[one, 1]]);
});

const principalOf = (subject: string): RequestContext['principal'] => ({
  kind: 'application',
  subject,
  clientId: subject,
  tokenId: newId(),
  scopes: [],
});
