// Events, subscriptions and deliveries wired for real over one database and served over HTTP; only tokens and the notifier are fakes.

import { randomBytes } from 'node:crypto';
import { vi } from 'vitest';
import { composeRecoveries } from '../../src/app/wiring/compose-recoveries.ts';
import { createAuditService } from '../../src/audit/audit.service.ts';
import { createBacklogGauge } from '../../src/events/backlog.service.ts';
import { createEventRoutes } from '../../src/events/event.routes.ts';
import { createEventService } from '../../src/events/event.service.ts';
import { createEventTypeRoutes } from '../../src/events/event-type.routes.ts';
import { createFeedService } from '../../src/events/feed.service.ts';
import { createPublishingService } from '../../src/events/publishing.service.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { parseNetworks } from '../../src/platform/egress/address-rules.ts';
import { createWorkflowCommandService } from '../../src/platform/temporal/workflow-command.service.ts';
import { createAccountRoutes } from '../../src/webhooks/accounts/account.routes.ts';
import { createAccountReadingService } from '../../src/webhooks/accounts/account-reading.service.ts';
import { createDeliveryRoutes } from '../../src/webhooks/deliveries/delivery.routes.ts';
import { createDeliveryService } from '../../src/webhooks/deliveries/delivery.service.ts';
import { createEndpointService } from '../../src/webhooks/endpoints/endpoint.service.ts';
import { createEndpointHealthStore } from '../../src/webhooks/endpoints/endpoint-health.store.ts';
import { createHostHoldService } from '../../src/webhooks/endpoints/host-hold.service.ts';
import { RECOVERY_SETTINGS } from '../../src/webhooks/endpoints/recovery-settings.ts';
import { createRecoveryRoutes } from '../../src/webhooks/replays/bulk-replay.routes.ts';
import { createSigningSecretRoutes } from '../../src/webhooks/subscriptions/signing-secret.routes.ts';
import { createSigningSecretService } from '../../src/webhooks/subscriptions/signing-secret.service.ts';
import { createSubscriptionRoutes } from '../../src/webhooks/subscriptions/subscription.routes.ts';
import { createSubscriptionService } from '../../src/webhooks/subscriptions/subscription.service.ts';
import { createSubscriptionSealing } from '../../src/webhooks/subscriptions/subscription-sealing.service.ts';
import { createTenantContext } from '../events/fixture.ts';
import { startTestServer, tokenFor } from '../platform/http/test-server.ts';
import { createTestDatabase } from '../setup/database.ts';

export const WORKFLOWS = { uiUrl: 'http://localhost:8233', namespace: 'countersign' };

const TOKEN = tokenFor('app', 'webhooks:read', 'webhooks:write', 'events:write');

export type WebhookRooms = Awaited<ReturnType<typeof createWebhookRooms>>;

/** Two tenants, at `/` and at `/t/acme`, and the services behind them. @param options.allowedNetworks beside public addresses */
export async function createWebhookRooms({ allowedNetworks = ['127.0.0.0/8'] } = {}) {
  const { database, drop } = await createTestDatabase();
  const tenants = { demo: await createTenantContext(database), acme: await createTenantContext(database) };
  const services = wire(database, allowedNetworks);
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

function wire(database: Database, allowedNetworks: readonly string[]) {
  const notifier = { poke: vi.fn() };
  const audit = createAuditService();

  const events = createEventService({ notifier });
  const publishing = createPublishingService({
    database,
    notifier,
    backlog: createBacklogGauge({ count: async () => 0, limit: 1_000_000 }),
  });
  const hostHolds = createHostHoldService({});
  const endpoints = createEndpointService({
    health: createEndpointHealthStore(RECOVERY_SETTINGS),
  });
  const sealing = createSubscriptionSealing({ masterKeys: [{ id: 'test', key: randomBytes(32) }] });
  const deliveries = createDeliveryService({
    database,
    endpoints,
    audit,
    notifier,
  });
  const subscriptions = createSubscriptionService({
    database,
    endpoints,
    hostHolds,
    sealing,
    deliveries,
    audit,
    events,
    admittedNetworks: parseNetworks(allowedNetworks),
  });
  const commands = createWorkflowCommandService();
  const signingSecrets = createSigningSecretService({
    database,
    sealing,
    audit,
    events,
    commands,
  });
  const recovering = composeRecoveries({
    database,
    subscriptions,
    endpoints,
    audit,
    commands,
    notifier,
    pace: { chunk: 3, waiting: 5 },
  });
  const routes = [
    ...createEventRoutes({
      publishing,
      feed: createFeedService({ database, deliveries }),
    }),
    ...createEventTypeRoutes(),
    ...createSubscriptionRoutes({ subscriptions }),
    ...createSigningSecretRoutes({ signingSecrets, subscriptions }),
    ...createRecoveryRoutes({ recoveries: recovering.bulkRecoveries, subscriptions, workflows: WORKFLOWS }),
    ...createDeliveryRoutes({ deliveries, workflows: WORKFLOWS }),
    ...createAccountRoutes({
      accounts: createAccountReadingService({ database }),
    }),
  ];
  return {
    notifier,
    events,
    publishing,
    endpoints,
    sealing,
    deliveries,
    subscriptions,
    signingSecrets,
    ...recovering,
    routes,
  };
}
