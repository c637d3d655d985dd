// SQL that records the tokens of remembered clients. The statement itself proves that a client is still as remembered.
// docs/decisions/0021-proved-memory.md
import { AUDIT_COLUMNS as AUDIT, type AuditRecord, auditColumns } from '../../audit/audit.ts';
import { AUTHENTICATION_FILTERS, isHeard } from '../../events/catalogue.ts';
import { CLIENT_VERSION } from '../../identity/applications/application.ts';
import type { Queryable } from '../../platform/database/transaction.ts';

/** What a process remembers of a client, and the secret by which the client has authenticated. */
export type RememberedClient = {
  readonly tenantId: string;
  readonly id: string;
  readonly secretId: string;
  readonly version: string;
};

/** The audit entries of a token, and the client that got it. */
export type RememberedToken = {
  readonly client: RememberedClient;
  readonly audit: readonly AuditRecord[];
};

// A client with a subscriber is not proven, because its token also needs events.
const recordStatement = (onConflict: '' | 'ON CONFLICT DO NOTHING') => `
WITH proven AS MATERIALIZED (
  SELECT remembered.n
  FROM unnest($1::int[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[]) AS remembered (n, tenant_id, id, secret_id, version)
    JOIN applications application ON application.id = remembered.id AND application.tenant_id = remembered.tenant_id
    JOIN application_secrets secret ON secret.id = remembered.secret_id AND secret.application_id = application.id
    LEFT JOIN agents agent ON agent.id = application.agent_id
  WHERE application.deleted_at IS NULL AND ${CLIENT_VERSION} = remembered.version
    AND (secret.expires_at IS NULL OR secret.expires_at > now())
    AND NOT ${isHeard('remembered.tenant_id', '$6')}
), new_audit_entries AS (
  INSERT INTO audit_log (${AUDIT})
  SELECT ${AUDIT}
  FROM unnest($7::uuid[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
      $16::uuid[], $17::text[], $18::jsonb[], $19::text[], $20::text[], $21::int[])
    AS entry (${AUDIT}, n)
  WHERE n IN (SELECT n FROM proven)
  ${onConflict}
)
SELECT n FROM proven`;

const RECORD = recordStatement('');
const REPEAT = recordStatement('ON CONFLICT DO NOTHING');

/**
 * Writes the audit entries of tokens whose clients are unchanged, whose secrets are live, and whose events no
 * subscription gets. One round trip, one transaction.
 * @param options.isRepeated whether the entries may be stored already
 * @returns for each token, in order, whether its entries were written
 */
export async function record(
  queryable: Queryable,
  tokens: readonly RememberedToken[],
  { isRepeated }: { isRepeated: boolean },
): Promise<boolean[]> {
  const clients = new Map<string, RememberedClient & { readonly n: number }>();
  const places = tokens.map(({ client }) => {
    const name = `${client.secretId}:${client.version}`;
    const known = clients.get(name)?.n;
    if (known !== undefined) return known;
    clients.set(name, { ...client, n: clients.size });
    return clients.size - 1;
  });
  const asked = [...clients.values()];
  const { rows } = await queryable.query<{ n: number }>(isRepeated ? REPEAT : RECORD, [
    asked.map(({ n }) => n),
    asked.map(({ tenantId }) => tenantId),
    asked.map(({ id }) => id),
    asked.map(({ secretId }) => secretId),
    asked.map(({ version }) => version),
    AUTHENTICATION_FILTERS,
    ...auditColumns(tokens.flatMap(({ audit }) => audit)),
    tokens.flatMap(({ audit }, index) => audit.map(() => places[index])),
  ]);
  const proven = new Set(rows.map(({ n }) => n));
  return places.map((place) => proven.has(place));
}
