// SQL of the applications' secrets. It must never be given a secret's text: only its hash comes in, and none goes out.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { Application, ApplicationSecret } from './application.ts';

type Row = { id: string; application_id: string; created_at: Date; expires_at: Date | null };

const IS_LIVE = '(expires_at IS NULL OR expires_at > now())';

/** SQL of `application_secrets`. @param database for reads outside a transaction */
export function createSecretStore({ database }: { database: Queryable }) {
  return {
    insert: async (
      unit: Queryable,
      secret: { id: string; tenantId: string; applicationId: string; hash: Uint8Array },
    ): Promise<ApplicationSecret> => {
      const { rows } = await unit.query<Row>(
        `INSERT INTO application_secrets (id, tenant_id, application_id, hash)
         VALUES ($1, $2, $3, $4) RETURNING id, application_id, created_at, expires_at`,
        [secret.id, secret.tenantId, secret.applicationId, secret.hash],
      );
      const [row] = rows;
      if (row === undefined) throw new Error('the insert returned no row');
      return readSecret(row);
    },

    /** Ids of the live secrets of an application that the transaction has locked, the newest first. */
    listLiveIds: async (
      unit: Queryable,
      { id: applicationId, tenantId }: Pick<Application, 'id' | 'tenantId'>,
    ): Promise<string[]> => {
      const { rows } = await unit.query<{ id: string }>(
        `SELECT id FROM application_secrets WHERE application_id = $1 AND tenant_id = $2 AND ${IS_LIVE}
         ORDER BY created_at DESC, id DESC`,
        [applicationId, tenantId],
      );
      return rows.map((row) => row.id);
    },

    // Truncated: a column of milliseconds rounds, and a secret that ends now would live until the next one.
    /** Ends live secrets `inSeconds` from now, or sooner where they already end sooner. @returns how many there were */
    expire: async (
      unit: Queryable,
      tenantId: string,
      applicationId: string,
      ids: readonly string[],
      inSeconds: number,
    ): Promise<number> => {
      const { rows } = await unit.query<{ id: string }>(
        `UPDATE application_secrets SET expires_at = least(expires_at, date_trunc('milliseconds', now()) + make_interval(secs => $4))
         WHERE application_id = $1 AND tenant_id = $2 AND id = ANY ($3::uuid[]) AND ${IS_LIVE} RETURNING id`,
        [applicationId, tenantId, ids, inSeconds],
      );
      return rows.length;
    },

    /** The live secrets of these applications, by application, the newest first. One round trip. */
    listLive: async (
      tenantId: string,
      applicationIds: readonly string[],
    ): Promise<Map<string, ApplicationSecret[]>> => {
      const { rows } = await database.query<Row>(
        `SELECT id, application_id, created_at, expires_at FROM application_secrets
         WHERE application_id = ANY ($1::uuid[]) AND tenant_id = $2 AND ${IS_LIVE} ORDER BY created_at DESC, id DESC`,
        [applicationIds, tenantId],
      );
      const byApplication = new Map<string, ApplicationSecret[]>();
      for (const row of rows) {
        const secrets = byApplication.get(row.application_id) ?? [];
        byApplication.set(row.application_id, [...secrets, readSecret(row)]);
      }
      return byApplication;
    },
  };
}

export type SecretStore = ReturnType<typeof createSecretStore>;

function readSecret(row: Row): ApplicationSecret {
  return { id: row.id, createdAt: row.created_at, expiresAt: row.expires_at };
}
