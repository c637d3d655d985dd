// Wires trusted issuers and the verification of their tokens.
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { createFetchNote } from './fetch-note.service.ts';
import { FETCHES } from './fetch-note.store.ts';
import { IssuerKeyFinder } from './issuer-key-finder.service.ts';
import { createJwksFetcher } from './jwks.client.ts';
import { KeySetCache } from './key-set.service.ts';
import { SubjectTokenService } from './subject-token.service.ts';
import { type TrustedIssuerNeeds, TrustedIssuerService } from './trusted-issuer.service.ts';

/** @param fetchDeadline milliseconds; longer in tests */
export function wireTrustedIssuers(
  { config, database, log, clock }: Platform,
  { records }: Pick<TrustedIssuerNeeds, 'records'>,
  fetchDeadline?: number,
) {
  const agent = openAgent(config);
  const issuerKeySets = new KeySetCache({
    fetch: createJwksFetcher({ agent, deadline: fetchDeadline }),
    log,
    now: clock.monotonic,
  });
  const trustedKeys = new IssuerKeyFinder({
    issuerKeySets,
    noteFetch: createFetchNote('trusted_issuer', { database, records }),
  });
  const { admittedNetworks } = agent;
  return {
    trustedIssuers: new TrustedIssuerService({ records, database, admittedNetworks }),
    /** Verifies users' tokens of trusted issuers. */
    subjects: new SubjectTokenService({ database, trustedKeys, now: clock.now }),
    /** The fetched keys of other issuers, of users' tokens and of workloads' assertions. */
    issuerKeySets,
    admittedNetworks,
    closeTrustedIssuers: () => agent.close(),
  };
}

/** Wires what asks all tenants' issuers for their keys; it opens no connection before. */
export function wireIssuerInspection({ config, database }: Platform) {
  const agent = openAgent(config);
  const fetch = createJwksFetcher({ agent });
  return {
    listAddresses: async () =>
      (await Promise.all(Object.values(FETCHES).map((of) => of.listAddresses(database)))).flat(),
    fetchKeys: async (uri: string) => (await fetch(uri)).keys,
    close: () => agent.close(),
  };
}

/** Other issuers are on the internet. Addresses of internal networks are allowed in development only. */
function openAgent({ nodeEnv, webhookAllowedNetworks }: Platform['config']) {
  const production = nodeEnv === 'production';
  return createGuardedAgent({
    allowedNetworks: production ? [] : webhookAllowedNetworks,
    internalNames: !production,
  });
}
