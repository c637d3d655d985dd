// Challenges that ended some time ago, without waiting for them.
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';

/** @param options.seconds since they ended, whole ones; negative: they end in the future */
export async function insertEnded(
  database: Pick<Database, 'query'>,
  tenantId: string,
  { count, seconds, used = false }: { count: number; seconds: number; used?: boolean },
): Promise<void> {
  await database.query(
    `INSERT INTO challenges (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, created_at, expires_at, consumed_at)
     SELECT id, $2, id, id, '', 'ed25519', '', '', '{}', ended - interval '5 minutes', ended, CASE WHEN $4 THEN ended END
     FROM unnest($1::uuid[]) AS row (id), (SELECT date_trunc('second', now()) - make_interval(secs => $3) AS ended) AS time`,
    [Array.from({ length: count }, newId), tenantId, seconds, used],
  );
}

/** The code that something was refused with. */
export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'accepted',
    (error: { code?: string }) => error.code ?? String(error),
  );
}
