// Events, subscriptions and deliveries wired for real over one database and served over HTTP; only tokens and the
// notifier are fakes.

import { vi } from 'vitest';
import { isSuspended } from '../../src/identity/tenants/tenant.store.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { wireLimits } from '../../src/platform/http/wire.ts';
import { createWorkflowCommandService } from '../../src/platform/temporal/workflow-command.service.ts';
import { wireAccounts } from '../../src/webhooks/accounts/wire.ts';
import { wireDeliveries } from '../../src/webhooks/deliveries/wire.ts';
import { wireEndpoints } from '../../src/webhooks/endpoints/wire.ts';
import { wirePublishing, wireRecords } from '../../src/webhooks/intake/wire.ts';
import { wireReplays } from '../../src/webhooks/replays/wire.ts';
import { wireSubscriptions } from '../../src/webhooks/subscriptions/wire.ts';
import { startTestServer, tokenFor } from '../platform/http/test-server.ts';
import { createTestDatabase } from '../setup/database.ts';
import { createTestPlatform } from '../setup/platform.ts';
import { createTenantContext } from './intake/fixture.ts';

const TOKEN = tokenFor('app', 'webhooks:read', 'webhooks:write', 'events:write');

export type WebhookRooms = Awaited<ReturnType<typeof createWebhookRooms>>;

/**
 * Two tenants, at `/` and at `/t/acme`, and the services behind them.
 * @param options.allowedNetworks beside public addresses
 */
export async function createWebhookRooms({ allowedNetworks = ['127.0.0.0/8'] } = {}) {
  const { database, drop } = await createTestDatabase();
  const tenants = { demo: await createTenantContext(database), acme: await createTenantContext(database) };
  const services = wireWebhookRooms(database, allowedNetworks);
  const server = await startTestServer(services.routes, {
    database,
    tenants: {
      bySlug: async (slug) => (slug === 'demo' || slug === 'acme' ? tenants[slug].tenant : undefined),
    },
  });
  return {
    ...services,
    database,
    ...tenants,
    /** A request with a token that may do everything. */
    send: (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      server.send(method, path, body, { authorization: `Bearer ${TOKEN}`, ...headers }),
    /** Creates a subscription over HTTP; gives its id. */
    subscribe: async (fields: Record<string, unknown> = {}, tenant = ''): Promise<string> => {
      const { body } = await server.send(
        'POST',
        `${tenant}/api/v1/webhooks`,
        { url: 'https://example.com/hook', event_types: ['*'], ...fields },
        { authorization: `Bearer ${TOKEN}` },
      );
      return body.id;
    },
    /** Publishes events of one type; gives the ids of the subscription's deliveries of them, the oldest first. */
    publish: async (subscriptionId: string, count = 1, type = 'org.created'): Promise<string[]> => {
      const { rows: owners } = await database.query<{ tenant_id: string }>(
        'SELECT tenant_id FROM subscriptions WHERE id = $1',
        [subscriptionId],
      );
      const context = owners[0]?.tenant_id === tenants.acme.tenant.id ? tenants.acme : tenants.demo;
      const items = Array.from({ length: count }, (_, n) => ({
        path: 'body',
        type,
        data: { n },
        eventId: undefined,
        occurredAt: undefined,
      }));
      const published = await services.publishing.publish(context, items);
      const ids = published.map((result) => ('eventId' in result ? result.eventId : ''));
      const { rows } = await database.query<{ id: string }>(
        'SELECT id FROM deliveries WHERE subscription_id = $1 AND event_id = ANY ($2) ORDER BY id',
        [subscriptionId, ids],
      );
      return rows.map(({ id }) => id);
    },
    outboxOf: async (deliveryId: string) => {
      const { rows } = await database.query<{ kind: string; command: string | null; generation: number }>(
        'SELECT kind, command, generation FROM outbox WHERE delivery_id = $1 ORDER BY kind, command',
        [deliveryId],
      );
      return rows;
    },
    close: async () => {
      await server.drain();
      await drop();
    },
  };
}

/** The rooms of one process. */
export function wireWebhookRooms(database: Database, allowedNetworks: string[] = ['127.0.0.0/8']) {
  const notifier = { poke: vi.fn() };
  const platform = createTestPlatform(database, {
    notifier,
    config: { webhookAllowedNetworks: allowedNetworks },
  });
  const commands = createWorkflowCommandService();
  const records = wireRecords(platform);
  const shared = { records, commands };
  const endpoints = wireEndpoints(platform, shared);
  const deliveries = wireDeliveries(platform, { ...shared, ...endpoints });
  const subscriptions = wireSubscriptions(platform, {
    ...{ ...shared, ...endpoints, ...deliveries, tenants: { isSuspended } },
  });
  const replays = wireReplays(
    platform,
    { ...shared, ...endpoints, ...subscriptions },
    { chunk: 3, waiting: 5 },
  );
  const publishing = wirePublishing(platform, { ...deliveries, limits: wireLimits(platform) });
  const accounts = wireAccounts(platform);
  return {
    notifier,
    records,
    ...endpoints,
    ...deliveries,
    ...subscriptions,
    ...replays,
    ...publishing,
    routes: [publishing, subscriptions, replays, deliveries, accounts].flatMap(({ routes }) => routes),
  };
}
