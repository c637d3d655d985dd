// Users whom delegations name. The name is opened with the user's key, and the key with a master key; nothing opened is
// kept, so that a user who is forgotten is so in every process.
import type { AuditContext } from '../../audit/audit.ts';
import type { MasterKey } from '../../platform/crypto/secret-box.node.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { Subject } from './subject.ts';
import * as store from './user.store.ts';
import { createUserSealing, type OpenedUser, type UserSealing } from './user-sealing.service.ts';

export type { OpenedUser, StoredUser } from './user-sealing.service.ts';

/** The address of an act that no client asked for. */
const NO_ADDRESS = 'local';

/** @param masterKeys the first seals new users */
export function createUserService({
  database,
  masterKeys,
}: {
  database: Pick<Database, 'query'>;
  masterKeys: readonly MasterKey[];
}) {
  const sealing: UserSealing = createUserSealing({ masterKeys });
  const { open, digestsOf } = sealing;
  const list = async (
    tenantId: string,
    ids: readonly string[],
    unit: Queryable = database,
  ): Promise<ReadonlyMap<string, OpenedUser>> =>
    new Map((await store.list(unit, tenantId, ids)).map((user) => [user.id, open(user)]));

  return {
    open,
    digestsOf,
    /** Returns the users of these ids; one that is forgotten, or never was, is not among them. */
    list,

    /** Returns the user of this name, who gets an id and a key at the first use. A forgetting waits for the end. */
    keep: async (unit: Transaction, tenantId: string, subject: Subject): Promise<OpenedUser> =>
      open(await store.keep(unit, sealing.create(tenantId, subject), digestsOf(tenantId, subject))),

    /** Removes the user of this name with the key. @returns the ids: none when nobody of this name is known */
    remove: (unit: Transaction, tenantId: string, subject: Subject): Promise<string[]> =>
      store.remove(unit, tenantId, digestsOf(tenantId, subject)).then((rows) => rows.map(({ id }) => id)),

    /** Returns the context of an act in a user's name, with a sealed address. A forgotten user leaves none. */
    sealAddress: async <Context extends AuditContext>(
      unit: Transaction,
      context: Context,
      userId: string,
    ): Promise<Context> => sealAddress(context, (await list(context.tenant.id, [userId], unit)).get(userId)),
  };
}

export type UserService = ReturnType<typeof createUserService>;

/** Returns the context of an act in a user's name, for the audit log: the address opens with the user's key alone. */
export function sealAddress<Context extends AuditContext>(
  context: Context,
  user: Pick<OpenedUser, 'seal'> | undefined,
): Context {
  if (context.address === NO_ADDRESS) return context;
  return { ...context, address: user?.seal(context.address) ?? NO_ADDRESS };
}
