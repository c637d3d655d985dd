// The lease of a process on rows of the outbox: its registration as a relay, its beat, and the comparison of its claims
// with the work that it has in hand. When the beat ends, other relays take its claims over.

import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import type * as relayStore from './relay.store.ts';
import type { RelayIdentity } from './relay.store.ts';

/** Makes the lease of a process. It begins with the first beat. */
export class RelayLease extends Service<{
  database: Pick<Database, 'query'>;
  store: Pick<typeof relayStore, 'beat' | 'register' | 'leave' | 'claims' | 'release'>;
  instance: string;
  role: 'worker' | 'api';
  /** Milliseconds after its last beat for which a process is sure to own its claims. */
  lasts: number;
  /** Milliseconds between two comparisons of the claims with the work in hand. */
  audit: number;
}> {
  // The rows of the outbox that this process works on, by id.
  /** The ids of the rows that this process has claimed and not settled. */
  readonly inHand = new Set<string>();
  #identity: RelayIdentity = { instance: this.needs.instance, epoch: 0 };
  #lastBeat = Number.NEGATIVE_INFINITY;
  #lastAudit = Number.NEGATIVE_INFINITY;
  #suspects: ReadonlySet<string> = new Set();

  /** Returns the name under which the process claims rows now. */
  identity = (): RelayIdentity => this.#identity;

  /** False when another relay may have taken over the claims of this one. */
  isAlive = (): boolean => performance.now() - this.#lastBeat < this.needs.lasts;

  /** Writes the beat, and registers in a new epoch when the lease has ended. @throws when the database is away */
  beat = async (): Promise<void> => {
    const now = performance.now();
    const isKept =
      this.#identity.epoch > 0 && (await this.needs.store.beat(this.needs.database, this.#identity));
    if (!isKept)
      this.#identity = await this.needs.store.register(
        this.needs.database,
        this.needs.instance,
        this.needs.role,
      );
    this.#lastBeat = now;
  };

  /**
   * Gives back claims of this process that it has no work for: their answer was lost, or a crash of the database has
   * undone the end of their work. A claim counts as such when two audits in a row find it.
   * @returns the number of rows that other relays may claim now
   */
  auditClaims = async (): Promise<number> => {
    const now = performance.now();
    if (now < this.#lastAudit + this.needs.audit) return 0;
    this.#lastAudit = now;
    const claims = await this.needs.store.claims(this.needs.database, this.#identity);
    const unknown = claims.map(({ id }) => id).filter((id) => !this.inHand.has(id));
    const lost = unknown.filter((id) => this.#suspects.has(id) && !this.inHand.has(id));
    this.#suspects = new Set(unknown);
    return lost.length === 0 ? 0 : this.needs.store.release(this.needs.database, this.#identity, lost);
  };

  /** Ends the lease and gives all claims back. */
  leave = (): Promise<void> => this.needs.store.leave(this.needs.database, this.#identity);
}
