// SQL of used DPoP proofs: by the key's thumbprint (32 bytes), and the SHA-256 of the `jti`.
import { createUsedOnce } from '../../platform/database/used-once.ts';

export const { openUses, purge } = createUsedOnce({
  table: 'dpop_proofs',
  owner: ['jkt', 'bytea'],
  hash: 'jti_hash',
});
