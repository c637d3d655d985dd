// The lease of a process on rows of the outbox: its registration as a relay, its beat, and the comparison of its claims
// with the work that it has in hand. When the beat ends, other relays take its claims over.
import type { Database } from '../../platform/database/database.ts';
import type * as relayStore from './relay.store.ts';
import type { RelayIdentity } from './relay.store.ts';

/**
 * Makes the lease of a process. It begins with the first beat.
 * @param options.lasts milliseconds after its last beat for which a process is sure to own its claims
 * @param options.audit milliseconds between two comparisons of the claims with the work in hand
 */
export function createRelayLease({
  database,
  store,
  instance,
  role,
  lasts,
  audit,
}: {
  database: Pick<Database, 'query'>;
  store: Pick<typeof relayStore, 'beat' | 'register' | 'leave' | 'claims' | 'release'>;
  instance: string;
  role: 'worker' | 'api';
  lasts: number;
  audit: number;
}) {
  // The rows of the outbox that this process works on, by id.
  const inHand = new Set<string>();
  let identity: RelayIdentity = { instance, epoch: 0 };
  let lastBeat = Number.NEGATIVE_INFINITY;
  let lastAudit = Number.NEGATIVE_INFINITY;
  let suspects: ReadonlySet<string> = new Set();

  return {
    inHand,
    identity: (): RelayIdentity => identity,

    /** False when another relay may have taken over the claims of this one. */
    isAlive: (): boolean => performance.now() - lastBeat < lasts,

    /** Writes the beat, and registers in a new epoch when the lease has ended. @throws when the database is away */
    beat: async (): Promise<void> => {
      const now = performance.now();
      const isKept = identity.epoch > 0 && (await store.beat(database, identity));
      if (!isKept) identity = await store.register(database, instance, role);
      lastBeat = now;
    },

    /**
     * Gives back claims of this process that it has no work for: their answer was lost, or a crash of the database has
     * undone the end of their work. A claim counts as such when two audits in a row find it.
     * @returns the number of rows that other relays may claim now
     */
    auditClaims: async (): Promise<number> => {
      const now = performance.now();
      if (now < lastAudit + audit) return 0;
      lastAudit = now;
      const unknown = (await store.claims(database, identity)).filter((id) => !inHand.has(id));
      const lost = unknown.filter((id) => suspects.has(id) && !inHand.has(id));
      suspects = new Set(unknown);
      return lost.length === 0 ? 0 : store.release(database, identity, lost);
    },

    /** Ends the lease and gives all claims back. */
    leave: (): Promise<void> => store.leave(database, identity),
  };
}
