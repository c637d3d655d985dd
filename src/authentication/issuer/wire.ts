// Wires the two issuers of each tenant: of tokens, and of security events.
import type { Platform } from '../../platform/platform.ts';
import { createIssuerService, type IssuerNeeds } from './issuer.service.ts';
import { createIssuerKeyService, type IssuerKeyNeeds } from './issuer-key.service.ts';
import { eventKeyStore } from './key-schedule.store.ts';

export function wireIssuers(
  { config, database, clock }: Platform,
  rooms: Pick<IssuerNeeds, 'revocations'> & Pick<IssuerKeyNeeds, 'revocations' | 'records' | 'commands'>,
) {
  const { masterKeys, issuerKeyLifetime: lifetime } = config;
  const needs = { ...rooms, database, masterKeys, lifetime, now: clock.monotonic };
  const issuer = createIssuerService(needs);
  const eventIssuer = createIssuerService({ ...needs, table: 'event_keys' });
  return {
    issuer,
    issuerKeys: createIssuerKeyService({ ...needs, issuer }),
    /** The keys that sign security event tokens: another issuer, so that no access token verifies by them. */
    eventIssuer,
    eventKeys: createIssuerKeyService({ ...needs, store: eventKeyStore, issuer: eventIssuer }),
  };
}
