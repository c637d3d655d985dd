// Names that only this system knows: in production an anchor's look never tells that there is one.
import { promises as dns } from 'node:dns';
import { afterEach, expect, it, vi } from 'vitest';
import { wireAnchorChecks } from '../../../src/identity/anchors/wire.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { createRooms, createTestTenant } from '../agents/agent-rooms.ts';
import { startDnsServer } from './dns-server.ts';

afterEach(() => vi.restoreAllMocks());

it.each([
  ['production', '', false, 'dns:ENOTFOUND'],
  ['production', '10.0.0.0/8', true, 'dns:ENOTFOUND'],
  ['development', '', true, 'blocked_address:private'],
])('in %s, with networks "%s" admitted', async (nodeEnv, networks, receivers, outcome) => {
  const test = await createTestDatabase();
  const names = await startDnsServer(() => 3);
  const config = loadConfig(
    {
      NODE_ENV: nodeEnv,
      DATABASE_URL: test.url,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      AUDIT_KEY: Buffer.alloc(32, 2).toString('base64'),
      TEMPORAL_ADDRESS: '127.0.0.1:7233',
      ANCHOR_DNS_SERVERS: names.address,
      ...(networks === '' ? {} : { WEBHOOK_ALLOWED_NETWORKS: networks }),
    },
    { role: 'worker' },
  );
  expect(config.webhookInternalNames).toBe(receivers);
  const rooms = createRooms(test.database);
  const looks = wireAnchorChecks({ ...rooms.platform, config }, rooms);
  try {
    const context = await createTestTenant(rooms);
    const { id: agentId } = await rooms.agents.create(context, { name: 'Robot' });
    const { id } = await rooms.anchors.create(context, agentId, {
      type: 'domain_https',
      value: 'postgres.prod',
    });
    await test.database.query('UPDATE anchors SET next_check_at = now() WHERE id = $1', [id]);
    // Its overloads have one answer for each form of the question.
    const system = vi.spyOn(dns, 'lookup').mockResolvedValue([{ address: '10.2.3.4', family: 4 }] as never);
    const { lastOutcome } = await looks.anchorChecks.check({ tenantId: context.tenant.id, id });
    expect(lastOutcome).toBe(outcome);
    expect(system).toHaveBeenCalledTimes(nodeEnv === 'production' ? 0 : 1);
  } finally {
    await Promise.all([looks.close(), rooms.verifier.close(), names.close()]);
    await test.drop();
  }
});
