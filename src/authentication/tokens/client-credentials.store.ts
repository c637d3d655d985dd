// SQL that records the tokens of clients. The statement itself proves that a client is still as it was read.
// docs/decisions/0021-proved-memory.md
import { ENTRY_COLUMNS, insertEntries } from '../../audit/audit.ts';
import { AUTHENTICATION_FILTERS } from '../../events/catalogue.ts';
import { EVENT_COLUMNS, readEvents } from '../../events/event.ts';
import { CLIENT_VERSION } from '../../identity/applications/application.ts';
import { columnsOf, isAmong } from '../../platform/columns.ts';
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { EMIT_INPUT, isHeard } from '../../webhooks/intake/fan-out.ts';
import type { PreparedRecords } from '../../webhooks/intake/record.service.ts';

/** A client as it was read, and the secret that it has used, which must still be live. */
export type DecidedClient = {
  readonly tenantId: string;
  readonly id: string;
  readonly secretId: string | null;
  readonly version: string;
  /** The records of its token have the events; without them no subscription may get them. */
  readonly isTold: boolean;
};

/** The records of a token, and the client that got it. */
export type ClientToken = PreparedRecords & { readonly client: DecidedClient };

/** `isRepeated`: the records may be stored already. */
type Options = { readonly waits: boolean; readonly isRepeated: boolean };

/** `isTold`: the records have events. */
type Form = Options & { readonly isTold: boolean };

type Asked = DecidedClient & { readonly n: number };

const ASKED = columnsOf<Asked>({
  uuid: ['tenantId', 'id', 'secretId'],
  text: ['version'],
  boolean: ['isTold'],
  int: ['n'],
});
const FILTERS = `$${ASKED.count + 1}`;
const AUDIT = ASKED.count + 2;
const EVENTS = AUDIT + ENTRY_COLUMNS.count + 1;

// `held` locks the application, `agent` its linked agent. A concurrent change of one of them therefore waits until this
// statement has ended, and then also ends the token of this statement; a change that was first gives the rows another
// version, and nothing is written. A change of secrets changes the application.
const recordStatement = ({ waits, isRepeated, isTold }: Form) =>
  many<{ n: number; deliveries: number }, unknown[]>(`
WITH held AS MATERIALIZED (
  SELECT asked.n, asked.secret_id, asked.version, application.id, application.agent_id, application.xmin
  FROM ${ASKED.from('asked')}
    JOIN applications application ON application.id = asked.id AND application.tenant_id = asked.tenant_id
  WHERE asked.is_told OR NOT ${isHeard('asked.tenant_id', FILTERS)}
  ORDER BY application.id FOR KEY SHARE OF application ${waits ? '' : 'SKIP LOCKED'}
), agent AS MATERIALIZED (
  SELECT id, xmin FROM agents WHERE id IN (SELECT agent_id FROM held)
  ORDER BY id FOR KEY SHARE ${waits ? '' : 'SKIP LOCKED'}
), proven AS MATERIALIZED (
  SELECT application.n FROM held application LEFT JOIN agent ON agent.id = application.agent_id
  WHERE ${CLIENT_VERSION} = application.version AND (application.secret_id IS NULL OR EXISTS (
    SELECT FROM application_secrets secret WHERE secret.id = application.secret_id
      AND secret.application_id = application.id AND coalesce(secret.expires_at > now(), true)))
), new_audit_entries AS (
  ${insertEntries({ first: AUDIT, only: { name: 'n', type: 'int', of: 'proven' }, repeated: isRepeated })}
)${
    isTold
      ? `, input AS (
  ${readEvents(EVENTS, { n: 'int' })} WHERE ${isAmong('n', 'proven')}
), ${EMIT_INPUT}`
      : ''
  }
SELECT n, ${isTold ? '(SELECT coalesce(sum(deliveries), 0)::int FROM accepted)' : '0'} AS deliveries FROM proven`);

/** Makes a value for yes and one for no, of which it gives one. */
function either<Value>(make: (is: boolean) => Value): (is: boolean) => Value {
  const [yes, no] = [make(true), make(false)];
  return (is) => (is ? yes : no);
}

const statementOf = either((waits) =>
  either((isRepeated) => either((isTold) => recordStatement({ waits, isRepeated, isTold }))),
);

/**
 * Writes the records of tokens whose clients are as they were read. One round trip, one transaction.
 * @param options.waits whether to wait for locked rows; otherwise clients with locked rows are left out
 * @param options.isRepeated whether the records may be stored already
 * @returns for each token, in order, whether its records were written; and the number of deliveries
 */
export async function record(
  queryable: Queryable,
  tokens: readonly ClientToken[],
  { waits, isRepeated }: Options,
): Promise<{ written: boolean[]; deliveries: number }> {
  const clients = new Map<string, Asked>();
  const places = tokens.map(({ client }) => {
    const name = [client.id, client.secretId, client.version, client.isTold].join();
    const known = clients.get(name)?.n;
    if (known !== undefined) return known;
    clients.set(name, { ...client, n: clients.size });
    return clients.size - 1;
  });
  const placesOf = (records: (token: ClientToken) => readonly unknown[]) =>
    tokens.flatMap((token, index) => records(token).map(() => places[index]));
  const isTold = tokens.some(({ events }) => events.length > 0);
  const events = isTold
    ? [...EVENT_COLUMNS.of(tokens.flatMap((token) => token.events)), placesOf((token) => token.events)]
    : [];
  const rows = await statementOf(waits)(isRepeated)(isTold)(
    queryable,
    ...ASKED.of([...clients.values()]),
    AUTHENTICATION_FILTERS,
    ...ENTRY_COLUMNS.of(tokens.flatMap(({ audit }) => audit)),
    placesOf(({ audit }) => audit),
    ...events,
  );
  const proven = new Set(rows.map(({ n }) => n));
  return { written: places.map((place) => proven.has(place)), deliveries: rows[0]?.deliveries ?? 0 };
}
