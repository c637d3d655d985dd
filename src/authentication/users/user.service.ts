// Users whom delegations name. The name is opened with the user's key, and the key with a master key; nothing opened is
// kept, so that a user who is forgotten is so in every process.

import type { AuditContext } from '../../audit/audit.ts';
import type { MasterKey } from '../../platform/crypto/secret-box.node.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { Subject } from './subject.ts';
import * as store from './user.store.ts';
import { type OpenedUser, UserSealing } from './user-sealing.service.ts';

export type { OpenedUser, StoredUser } from './user-sealing.service.ts';

/** The address of an act that no client asked for. */
const NO_ADDRESS = 'local';

export class UserService extends Service<{
  database: Pick<Database, 'query'>;
  /** The first seals new users. */
  masterKeys: readonly MasterKey[];
}> {
  readonly #sealing = new UserSealing({ masterKeys: this.needs.masterKeys });

  /** Opens the name of a stored user. @throws SecretBoxError when an unknown master key has sealed it */
  open = this.#sealing.open;

  /** Returns the digests by which a user may be stored: one for each master key, that of the first key first. */
  digestsOf = this.#sealing.digestsOf;

  /** Returns the users of these ids; one that is forgotten, or never was, is not among them. */
  list = async (
    tenantId: string,
    ids: readonly string[],
    unit: Queryable = this.needs.database,
  ): Promise<ReadonlyMap<string, OpenedUser>> =>
    new Map((await store.list(unit, tenantId, ids)).map((user) => [user.id, this.open(user)]));

  /** Returns the user of this name, who gets an id and a key at the first use. A forgetting waits for the end. */
  keep = async (unit: Transaction, tenantId: string, subject: Subject): Promise<OpenedUser> =>
    this.open(
      await store.keep(unit, this.#sealing.create(tenantId, subject), this.digestsOf(tenantId, subject)),
    );

  /** Removes the user of this name with the key. @returns the ids: none when nobody of this name is known */
  remove = (unit: Transaction, tenantId: string, subject: Subject): Promise<string[]> =>
    store.remove(unit, tenantId, this.digestsOf(tenantId, subject)).then((rows) => rows.map(({ id }) => id));

  /** Returns the context of an act in a user's name, with a sealed address. A forgotten user leaves none. */
  sealAddress = async <Context extends AuditContext>(
    unit: Transaction,
    context: Context,
    userId: string,
  ): Promise<Context> =>
    sealAddress(context, (await this.list(context.tenant.id, [userId], unit)).get(userId));
}

/** Returns the context of an act in a user's name, for the audit log: the address opens with the user's key alone. */
export function sealAddress<Context extends AuditContext>(
  context: Context,
  user: Pick<OpenedUser, 'seal'> | undefined,
): Context {
  if (context.address === NO_ADDRESS) return context;
  return { ...context, address: user?.seal(context.address) ?? NO_ADDRESS };
}
