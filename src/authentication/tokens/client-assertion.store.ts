// SQL of used client assertions: by the client's id, and the SHA-256 of the `jti`.
import { createUsedOnce } from '../../platform/database/used-once.ts';

export const { insert, insertOrRepeat, purge } = createUsedOnce('client_assertions', [
  'client_id',
  'jti_hash',
]);
