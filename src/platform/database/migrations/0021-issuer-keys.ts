// The schedule of issuer keys: when each retires and is removed, what was revoked, and a workflow for each tenant.
import type { MigrationStep } from '../migration-steps.ts';

export const issuerKeySchedule: readonly MigrationStep[] = [
  `
-- id: what the revocation feed calls the key. private_sealed: null once the key can sign no more. retire_at: when the next key begins to sign,
-- null while there is none: the last key signs for as long as it is the last. remove_at: when no token that it has signed lives any more.
-- revoked_at: since then it is not published, and what it has signed is refused.
-- The default of id is for the version before, which inserts keys without it while it is replaced; the next release drops it.
ALTER TABLE issuer_keys
  ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  ADD COLUMN revoked_at timestamptz(3),
  ALTER COLUMN private_sealed DROP NOT NULL;
`,
  `
-- A day, the longest life of an access token, and ten minutes.
UPDATE issuer_keys k SET retire_at = later.activate_at, remove_at = later.activate_at + interval '87000 seconds'
FROM (
  SELECT kid, lead(activate_at) OVER (PARTITION BY tenant_id ORDER BY activate_at, kid) AS activate_at FROM issuer_keys
) later
WHERE later.kid = k.kid AND later.activate_at IS NOT NULL;

INSERT INTO workflow_commands (tenant_id, workflow, entity_id) SELECT id, 'issuerKeyRotation', id FROM tenants;
`,
];
