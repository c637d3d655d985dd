// Wires issuers: their keys, their public documents, and the rotation of their keys in a worker.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createDeliveryKeyService } from './delivery-key.service.ts';
import { createDeliveryKeyRoutes, createIssuerRoutes } from './issuer.routes.ts';
import { createIssuerService } from './issuer.service.ts';
import { createIssuerKeyRoutes } from './issuer-key.routes.ts';
import { createIssuerKeyService } from './issuer-key.service.ts';
import { createIssuerRotationService } from './issuer-rotation.service.ts';
import { eventKeyStore } from './key-schedule.store.ts';

export function wireIssuer(
  { config, database, clock }: Platform,
  rooms: Needs<typeof createIssuerService, 'database' | 'masterKeys' | 'now' | 'table'> &
    Needs<typeof createIssuerKeyService, 'database' | 'masterKeys' | 'issuer' | 'lifetime' | 'store'>,
) {
  const { masterKeys } = config;
  const issuer = createIssuerService({ ...rooms, database, masterKeys, now: clock.monotonic });
  const issuerKeys = createIssuerKeyService({
    ...rooms,
    database,
    masterKeys,
    issuer,
    lifetime: config.issuerKeyLifetime,
  });
  const eventIssuer = createIssuerService({
    ...rooms,
    database,
    table: 'event_keys',
    masterKeys,
    now: clock.monotonic,
  });
  const eventKeys = createIssuerKeyService({
    ...rooms,
    database,
    store: eventKeyStore,
    masterKeys,
    issuer: eventIssuer,
    lifetime: config.issuerKeyLifetime,
  });
  return {
    issuer,
    issuerKeys,
    /** The keys that sign security event tokens: an issuer of their own, so that no access token verifies by them. */
    eventIssuer,
    eventKeys,
    routes: createIssuerRoutes({ issuer, eventIssuer }),
    keyRoutes: createIssuerKeyRoutes({ issuerKeys, eventKeys, workflows: config.temporal }),
  };
}

/** Wires the keys of deliveries, which are rows of the issuer's keys. */
export function wireDeliveryKeys(
  { config }: Platform,
  rooms: Needs<typeof createDeliveryKeyService, 'masterKeys'>,
) {
  const deliveryKeys = createDeliveryKeyService({ ...rooms, masterKeys: config.masterKeys });
  return { deliveryKeys, routes: createDeliveryKeyRoutes({ deliveryKeys }) };
}

/** Wires the steps of the workflow issuerKeyRotation. */
export function wireIssuerRotation(
  { database }: Platform,
  rooms: Needs<typeof createIssuerRotationService, 'database'>,
) {
  return createIssuerRotationService({ ...rooms, database });
}

export { SEALED_ISSUER_KEYS } from './issuer-key.ts';
/** Lists the tenants whose keys should have a workflow, and counts those with an overdue step. */
export {
  countOverdue as countOverdueIssuerKeys,
  listExpectedWorkflows as listIssuerKeys,
} from './key-schedule.store.ts';
