// SQL of the applications' secrets. Statements receive a secret's hash, never its text.
import { counted, many } from '../../platform/database/statements.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { ApplicationSecret } from './application.ts';
import {
  APPLICATION_SECRET,
  type ApplicationSecretRow,
  type NewApplicationSecretRow,
} from './secret.model.ts';

const IS_LIVE = '(expires_at IS NULL OR expires_at > now())';

export async function insert(
  transaction: Transaction,
  secret: NewApplicationSecretRow,
): Promise<ApplicationSecret> {
  const { id, createdAt, expiresAt } = await transaction.model(APPLICATION_SECRET).insert(secret);
  return { id, createdAt, expiresAt };
}

// Truncated, because the column rounds to milliseconds and could round up: an ended secret would be valid 1 ms longer.
/** Ends live secrets `inSeconds` from now, unless they already end sooner. @returns the number of live secrets */
export const expire = counted<
  [tenantId: string, applicationId: string, ids: readonly string[], inSeconds: number]
>(`
UPDATE application_secrets SET expires_at = least(expires_at, date_trunc('milliseconds', now()) + make_interval(secs => $4))
WHERE application_id = $2 AND tenant_id = $1 AND id = ANY ($3::uuid[]) AND ${IS_LIVE}`);

const list = many<
  ApplicationSecret & Pick<ApplicationSecretRow, 'applicationId'>,
  [tenantId: string, applicationIds: readonly string[]]
>(`
SELECT id, application_id, created_at, expires_at FROM application_secrets
WHERE application_id = ANY ($2::uuid[]) AND tenant_id = $1 AND ${IS_LIVE} ORDER BY created_at DESC, id DESC`);

/** Reads the live secrets of these applications, newest first, by application id. One round trip. */
export async function listLive(
  queryable: Queryable,
  tenantId: string,
  applicationIds: readonly string[],
): Promise<Map<string, ApplicationSecret[]>> {
  const byApplication = new Map<string, ApplicationSecret[]>();
  for (const { applicationId, ...secret } of await list(queryable, tenantId, applicationIds)) {
    const secrets = byApplication.get(applicationId) ?? [];
    byApplication.set(applicationId, [...secrets, secret]);
  }
  return byApplication;
}
