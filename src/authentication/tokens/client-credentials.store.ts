// SQL that records the tokens of remembered clients. The statement itself proves that a client is still as remembered.
// docs/decisions/0021-proved-memory.md
import { type AuditRecord, ENTRY_COLUMNS, insertEntries } from '../../audit/audit.ts';
import { AUTHENTICATION_FILTERS } from '../../events/catalogue.ts';
import { CLIENT_VERSION } from '../../identity/applications/application.ts';
import { columnsOf } from '../../platform/columns.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { isHeard } from '../../webhooks/intake/fan-out.ts';

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

type Asked = RememberedClient & { readonly n: number };

const ASKED = columnsOf<Asked>({ uuid: ['tenantId', 'id', 'secretId'], text: ['version'], int: ['n'] });

// A client with a subscriber is not proven, because its token also needs events.
const recordStatement = (repeated: boolean) => `
WITH proven AS MATERIALIZED (
  SELECT remembered.n
  FROM ${ASKED.from('remembered')}
    JOIN applications application ON application.id = remembered.id AND application.tenant_id = remembered.tenant_id
    JOIN application_secrets secret ON secret.id = remembered.secret_id AND secret.application_id = application.id
    LEFT JOIN agents agent ON agent.id = application.agent_id
  WHERE application.deleted_at IS NULL AND ${CLIENT_VERSION} = remembered.version
    AND (secret.expires_at IS NULL OR secret.expires_at > now())
    AND NOT ${isHeard('remembered.tenant_id', '$6')}
), new_audit_entries AS (
  ${insertEntries({ first: ASKED.count + 2, only: { name: 'n', type: 'int', of: 'proven' }, repeated })}
)
SELECT n FROM proven`;

const RECORD = recordStatement(false);
const REPEAT = recordStatement(true);

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
  const clients = new Map<string, Asked>();
  const places = tokens.map(({ client }) => {
    const name = `${client.secretId}:${client.version}`;
    const known = clients.get(name)?.n;
    if (known !== undefined) return known;
    clients.set(name, { ...client, n: clients.size });
    return clients.size - 1;
  });
  const { rows } = await queryable.query<{ n: number }>(isRepeated ? REPEAT : RECORD, [
    ...ASKED.of([...clients.values()]),
    AUTHENTICATION_FILTERS,
    ...ENTRY_COLUMNS.of(tokens.flatMap(({ audit }) => audit)),
    tokens.flatMap(({ audit }, index) => audit.map(() => places[index])),
  ]);
  const proven = new Set(rows.map(({ n }) => n));
  return places.map((place) => proven.has(place));
}
