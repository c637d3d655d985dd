// SQL of used client assertions: by the client's id, and the SHA-256 of the `jti`.
import { createUsedOnce } from '../../platform/database/used-once.ts';
import { GRACE, MOST_REPEATS } from './refresh-token.ts';

export const { openUses, purge } = createUsedOnce({
  table: 'client_assertions',
  owner: ['client_id', 'uuid'],
  hash: 'jti_hash',
  repeats: { within: GRACE, most: MOST_REPEATS },
});
