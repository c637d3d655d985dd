// Wires the two issuers of each tenant: of tokens, and of security events.
import type { Platform } from '../../platform/opening/platform.ts';
import { type IssuerNeeds, IssuerService } from './issuer.service.ts';
import { type IssuerKeyNeeds, IssuerKeyService } from './issuer-key.service.ts';
import { eventKeyStore } from './key-schedule.store.ts';

export function wireIssuers(
  { config, database, clock }: Platform,
  rooms: Pick<IssuerNeeds, 'revocations'> & Pick<IssuerKeyNeeds, 'revocations' | 'records' | 'commands'>,
) {
  const { masterKeys, issuerKeyLifetime: lifetime } = config;
  const needs = { ...rooms, database, masterKeys, lifetime, now: clock.monotonic };
  const issuer = new IssuerService(needs);
  const eventIssuer = new IssuerService({ ...needs, table: 'event_keys' });
  return {
    issuer,
    issuerKeys: new IssuerKeyService({ ...needs, issuer }),
    /** The keys that sign security event tokens: another issuer, so that no access token verifies by them. */
    eventIssuer,
    eventKeys: new IssuerKeyService({ ...needs, store: eventKeyStore, issuer: eventIssuer }),
  };
}
