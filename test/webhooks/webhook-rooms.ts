// Events, subscriptions and deliveries wired for real over one database and served over HTTP; only tokens and the
// notifier are fakes.

import { vi } from 'vitest';
import { isSuspended } from '../../src/identity/tenants/tenant.store.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { wireLimits } from '../../src/platform/http/wire.ts';
import { WorkflowCommandService } from '../../src/platform/temporal/workflow-command.service.ts';
import { createAccountRoutes } from '../../src/webhooks/accounts/account.routes.ts';
import { AccountReadingService } from '../../src/webhooks/accounts/account-reading.service.ts';
import { HourReadingService } from '../../src/webhooks/accounts/hour-count.service.ts';
import { createDeliveryRoutes } from '../../src/webhooks/deliveries/delivery.routes.ts';
import { DeliveryService } from '../../src/webhooks/deliveries/delivery.service.ts';
import { wireEndpoints } from '../../src/webhooks/endpoints/wire.ts';
import { createEventRoutes } from '../../src/webhooks/intake/event.routes.ts';
import { createEventTypeRoutes } from '../../src/webhooks/intake/event-type.routes.ts';
import {
  wireEventNews,
  wireEventWaiters,
  wirePublishing,
  wireRecords,
} from '../../src/webhooks/intake/wire.ts';
import { createBulkReplayRoutes } from '../../src/webhooks/replays/bulk-replay.routes.ts';
import { wireReplays } from '../../src/webhooks/replays/wire.ts';
import { createStandingRoutes } from '../../src/webhooks/standing/standing.routes.ts';
import { StandingService } from '../../src/webhooks/standing/standing.service.ts';
import { createSigningSecretRoutes } from '../../src/webhooks/subscriptions/signing-secret.routes.ts';
import { createSubscriptionRoutes } from '../../src/webhooks/subscriptions/subscription.routes.ts';
import { wireSubscriptions } from '../../src/webhooks/subscriptions/wire.ts';
import { startTestServer, tokenFor } from '../platform/http/test-server.ts';
import { createTestDatabase } from '../setup/database.ts';
import { createTestPlatform } from '../setup/platform.ts';
import { createTenantContext } from './intake/fixture.ts';

const TOKEN = tokenFor('app', 'webhooks:read', 'webhooks:write', 'events:write');

const ROUTES = [
  createEventRoutes,
  createEventTypeRoutes,
  createSubscriptionRoutes,
  createSigningSecretRoutes,
  createBulkReplayRoutes,
  createDeliveryRoutes,
  createAccountRoutes,
  createStandingRoutes,
];

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
      services.waiters.end();
      await server.drain();
      await services.waiters.close();
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
  const commands = new WorkflowCommandService();
  const news = wireEventNews(platform);
  const waiters = wireEventWaiters(platform, news);
  const records = wireRecords(platform, news);
  const endpoints = wireEndpoints(platform, { commands });
  const shared = { database, notifier, records, commands, ...endpoints };
  const deliveries = new DeliveryService(shared);
  const subscriptions = wireSubscriptions(platform, {
    ...shared,
    deliveries,
    tenants: { isSuspended, subscriptionLimit: 1_000 },
  });
  const services = {
    ...shared,
    ...subscriptions,
    ...wireReplays(platform, { ...shared, ...subscriptions }, { chunk: 3, waiting: 5 }),
    ...wirePublishing(platform, { ...news, deliveries, limits: wireLimits(platform), waiters }),
    waiters,
    deliveries,
    accounts: new AccountReadingService({ database }),
    hours: new HourReadingService({ database }),
    standing: new StandingService({ database }),
    workflows: platform.config.temporal,
  };
  return { ...services, routes: ROUTES.flatMap((create) => create(services)) };
}
