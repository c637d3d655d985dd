// Checks that every master key with which a stored secret is sealed is present. Without this check, a missing key would
// show only at the next use of a secret.
import type { KeyInUse } from '../../platform/database/sealed-column.ts';
import type { Check } from './finding.ts';

/** @param options.listMissingKeys returns the master keys of stored secrets that the settings lack */
export function createSealedSecretsCheck({
  listMissingKeys,
}: {
  listMissingKeys: () => Promise<readonly KeyInUse[]>;
}): Check {
  return {
    name: 'sealedSecrets',
    title: 'the master keys that sealed secrets name',
    examine: async ({ found, looked }) => {
      const missing = await listMissingKeys();
      looked(1);
      for (const { table, column, keyId } of missing)
        await found({
          code: 'master_key_missing',
          subject: `${table}.${column}`,
          detail: `has secrets that are sealed with the master key ${keyId}, which is not in MASTER_KEY: nobody can open them`,
        });
    },
  };
}
