// Opens what the audit log has sealed with the keys of users, for the tenant that reads it. Proofs are over the sealed
// bytes, so nothing of them changes when a key is gone.
import { type AuditLogRecord, SEALED_MARK } from './audit.ts';

/** Whom an entry is about. Without `issuer` and `sub` the user is forgotten. */
export type NamedUser = {
  readonly id: string;
  readonly issuer: string | null;
  readonly sub: string | null;
};

/** An entry as its tenant reads it; `user` is null in one that is about no user. */
export type ReadRecord = AuditLogRecord & { readonly user: NamedUser | null };

type KnownUser = { readonly issuer: string; readonly sub: string; readonly open: (sealed: string) => string };

/** `list` returns the users of these ids that are not forgotten. */
export type KnownUsers = {
  readonly list: (tenantId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, KnownUser>>;
};

/** What stands in the place of a text whose key is gone. */
const FORGOTTEN = 'forgotten';

/** Opens addresses and reasons. One round trip when an entry is about a user. */
export async function openRecords(
  users: KnownUsers,
  tenantId: string,
  records: readonly AuditLogRecord[],
): Promise<ReadRecord[]> {
  const ids = new Set(records.flatMap((record) => idOf(record) ?? []));
  const known = ids.size === 0 ? new Map<string, KnownUser>() : await users.list(tenantId, [...ids]);
  return records.map((record) => {
    const id = idOf(record);
    if (id === undefined) return { ...record, user: null };
    const user = known.get(id);
    const open = <Value>(value: Value) =>
      typeof value === 'string' && value.startsWith(SEALED_MARK) ? (user?.open(value) ?? FORGOTTEN) : value;
    const { address, data } = record;
    return {
      ...record,
      address: open(address),
      data: 'reason' in data ? { ...data, reason: open(data.reason) } : data,
      user: { id, issuer: user?.issuer ?? null, sub: user?.sub ?? null },
    };
  });
}

function idOf({ data: { subject_id: id } }: AuditLogRecord): string | undefined {
  return typeof id === 'string' ? id : undefined;
}
