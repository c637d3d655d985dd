// Opens the names of users in a tenant's archive, and the addresses and reasons of audit entries about users. An entry
// keeps its sealed bytes too, because its proof is over them.
import { type AuditLogRecord, SEALED_MARK } from '../../audit/audit.ts';
import { type KnownUsers, openRecords } from '../../audit/named-users.service.ts';

type Row = Readonly<Record<string, unknown>>;

/** @param rows JSON texts of one table @returns the same rows, opened */
export async function openRows(
  users: KnownUsers,
  tenantId: string,
  { table, rows }: { readonly table: string; readonly rows: readonly string[] },
): Promise<readonly string[]> {
  const open = OPENERS[table];
  if (open === undefined) return rows;
  const opened = await open(
    users,
    tenantId,
    rows.map((row) => JSON.parse(row) as Row),
  );
  return opened.map((row) => JSON.stringify(row));
}

type Opener = (users: KnownUsers, tenantId: string, rows: readonly Row[]) => Promise<Row[]>;

const OPENERS: Readonly<Record<string, Opener>> = {
  users: async (users, tenantId, rows) => {
    const known = await users.list(tenantId, idsOf(rows, 'id'));
    return rows.map(({ digest: _, name: __, ...row }) => {
      const user = known.get(String(row.id));
      return { ...row, issuer: user?.issuer ?? null, sub: user?.sub ?? null };
    });
  },
  delegations: async (users, tenantId, rows) => {
    const known = await users.list(tenantId, idsOf(rows, 'user_id'));
    return rows.map(({ revoked_reason: reason, ...row }) => {
      const isSealed = typeof reason === 'string' && reason.startsWith(SEALED_MARK);
      const user = known.get(String(row.user_id));
      return { ...row, revoked_reason: isSealed ? (user?.open(reason) ?? null) : reason };
    });
  },
  audit_log: async (users, tenantId, rows) => {
    const written = rows.map((row) => ({ ...row, address: row.client_address ?? row.address }));
    const records = await openRecords(users, tenantId, written as unknown as AuditLogRecord[]);
    return records.map(({ user, address, data }, n) =>
      user === null ? (rows[n] ?? {}) : { ...rows[n], opened: { user, address, data } },
    );
  },
};

function idsOf(rows: readonly Row[], name: string): string[] {
  return [...new Set(rows.flatMap(({ [name]: id }) => (typeof id === 'string' ? [id] : [])))];
}
