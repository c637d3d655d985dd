// The one place where everything is wired: settings → database → stores → services (here) → routes (compose-routes.ts). It must hold no rule of its own.

import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { createAuditService } from '../../audit/audit.service.ts';
import { createAuditVerificationService } from '../../audit/audit-verification.service.ts';
import { createVerificationStore } from '../../audit/verification.store.ts';
import { createIssuerService } from '../../authentication/issuer/issuer.service.ts';
import { createIssuerKeyService } from '../../authentication/issuer/issuer-key.service.ts';
import {
  createRevocationService,
  REVOCATION_CHANNEL,
} from '../../authentication/tokens/revocation.service.ts';
import { createEventService } from '../../events/event.service.ts';
import * as eventStore from '../../events/event.store.ts';
import { createApplicationService } from '../../identity/applications/application.service.ts';
import { createProvisionService } from '../../identity/tenants/provision.service.ts';
import { createTenantService } from '../../identity/tenants/tenant.service.ts';
import { type Config, databaseMissing } from '../../platform/config.ts';
import { createDatabase } from '../../platform/database/database.ts';
import { createOutboxListener } from '../../platform/database/listener.client.ts';
import { createOutboxNotifier } from '../../platform/database/notifier.client.ts';
import { parseNetworks } from '../../platform/egress/address-rules.ts';
import { reasonOf } from '../../platform/logging.ts';
import { createWorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import { createDeliveryService } from '../../webhooks/deliveries/delivery.service.ts';
import { createEndpointService } from '../../webhooks/endpoints/endpoint.service.ts';
import { createEndpointHealthStore } from '../../webhooks/endpoints/endpoint-health.store.ts';
import { createHostHoldService } from '../../webhooks/endpoints/host-hold.service.ts';
import { RECOVERY_SETTINGS } from '../../webhooks/endpoints/recovery-settings.ts';
import { createSigningSecretService } from '../../webhooks/subscriptions/signing-secret.service.ts';
import { createSubscriptionService } from '../../webhooks/subscriptions/subscription.service.ts';
import { createSubscriptionSealing } from '../../webhooks/subscriptions/subscription-sealing.service.ts';
import { composeSealedSecrets } from './compose-master-keys.ts';
import { composeOperators } from './compose-operators.ts';
import { composeRecoveries } from './compose-recoveries.ts';

/**
 * Wires what every process needs.
 * @param options.name shown in pg_stat_activity
 */
export function composeCore(
  config: Config,
  { logger, name, tracing = NO_TRACING }: { logger: Logger; name: string; tracing?: Tracing | undefined },
) {
  const url = requireDatabase(config);
  const onError = (error: unknown) =>
    logger.warn({ reason: reasonOf(error) }, 'a database connection broke; another will replace it');
  const database = createDatabase({
    url,
    pool: config.databasePool,
    applicationName: `countersign ${name}`,
    onError,
  });
  const notifier = createOutboxNotifier({ url, onError });
  const { masterKeys } = config;

  const audit = createAuditService();

  const events = createEventService({
    notifier,
    checked: config.nodeEnv === 'test',
    tracing,
  });
  const revocationNotifier = createOutboxNotifier({ url, channel: REVOCATION_CHANNEL, onError });
  const revocations = createRevocationService({
    database,
    notifier: revocationNotifier,
    listen: (onNotice) =>
      createOutboxListener({ url, channel: REVOCATION_CHANNEL, onWork: onNotice, onError }),
    onError: (error) =>
      logger.warn({ reason: reasonOf(error) }, 'revocations could not be read; each check asks the database'),
  });
  const commands = createWorkflowCommandService();
  const issuer = createIssuerService({ database, masterKeys, revocations });
  const issuerKeys = createIssuerKeyService({
    database,
    masterKeys,
    issuer,
    revocations,
    audit,
    events,
    commands,
    lifetime: config.issuerKeyLifetime,
  });
  const sealedSecrets = composeSealedSecrets(database, masterKeys);
  const tenants = createTenantService({
    database,
    issuerKeys,
    audit,
    addresses: config,
  });
  const applications = createApplicationService({
    database,
    audit,
    tokens: revocations,
  });
  const endpoints = createEndpointService({
    health: createEndpointHealthStore(RECOVERY_SETTINGS),
    notifier,
    commands,
  });
  const hostHolds = createHostHoldService({ notifier, commands });
  const sealing = createSubscriptionSealing({ masterKeys });
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
    admittedNetworks: parseNetworks(config.webhookAllowedNetworks),
  });
  const signingSecrets = createSigningSecretService({
    database,
    sealing,
    audit,
    events,
    commands,
  });
  const { bulkRecoveries, bulkRecoverySteps } = composeRecoveries({
    database,
    subscriptions,
    endpoints,
    audit,
    commands,
    notifier,
  });
  return {
    url,
    registry: new Registry(),
    database,
    notifier,
    audit,
    events,
    eventStore,
    commands,
    issuer,
    issuerKeys,
    tenants,
    applications,
    revocations,
    endpoints,
    hostHolds,
    sealing,
    sealedSecrets,
    deliveries,
    subscriptions,
    signingSecrets,
    bulkRecoveries,
    bulkRecoverySteps,
    tracing,
    close: async () => {
      await revocations.close();
      await Promise.all([notifier.close(), revocationNotifier.close()]);
      await database.close();
    },
  };
}

export type Core = ReturnType<typeof composeCore>;

/** Wires the management commands. */
export function composeManagement(config: Config, logger: Logger) {
  const core = composeCore(config, { logger, name: 'command' });
  const { database, issuer, sealedSecrets, tenants, applications, close } = core;
  return {
    issuer,
    sealedSecrets,
    tenants,
    applications,
    provisioning: createProvisionService({ database, tenants, applications }),
    ...composeOperators(core),
    auditVerification: createAuditVerificationService({
      database,
      store: createVerificationStore({ database }),
      masterKeys: config.masterKeys,
    }),
    close,
  };
}

function requireDatabase({ databaseUrl }: Config): string {
  if (databaseUrl === undefined) throw databaseMissing();
  return databaseUrl;
}
