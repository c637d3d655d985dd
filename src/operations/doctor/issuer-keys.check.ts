// Asks the issuers that tenants trust, of users and of workloads, for their keys. It leaves the machine, and what it
// finds is a tenant's to mend, so it runs only when it is asked for.
import type { IssuerAddress } from '../../authentication/trusted-issuers/trusted-issuer.ts';
import type { Check } from './finding.ts';
import { inGroups } from './mend-waiting.service.ts';

/** Addresses that are asked concurrently. */
const CONCURRENT = 8;

/** @param options.fetchKeys returns the usable keys at an address; throws an error whose message says what is wrong */
export function createIssuerKeysCheck({
  listAddresses,
  fetchKeys,
}: {
  listAddresses: () => Promise<readonly IssuerAddress[]>;
  fetchKeys: (uri: string) => Promise<readonly unknown[]>;
}): Check {
  return {
    name: 'issuerKeys',
    title: 'the keys of the issuers that tenants trust',
    isAskedFor: true,
    examine: async ({ found, looked }) => {
      const byUri = new Map<string, IssuerAddress[]>();
      for (const address of await listAddresses())
        byUri.set(address.uri, [...(byUri.get(address.uri) ?? []), address]);

      await inGroups([...byUri], CONCURRENT, async ([uri, addresses]) => {
        const fault = await fetchKeys(uri).then(
          (keys) =>
            keys.length === 0
              ? { code: 'issuer_keys_missing', what: 'has no key that can verify a token' }
              : undefined,
          (error: unknown) => ({
            code: 'issuer_keys_unreachable',
            what: error instanceof Error ? error.message : String(error),
          }),
        );
        looked(addresses.length);
        if (fault === undefined) return;
        for (const { id, tenantId, kind, issuer } of addresses)
          await found({
            code: fault.code,
            subject: id,
            tenantId,
            detail: `the ${kind} ${issuer}, ${uri}: ${fault.what}`,
          });
      });
    },
  };
}
