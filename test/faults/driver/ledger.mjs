// The driver's own record of a run: what it sent, what was answered, and what its receivers got. Nothing in it comes
// from the service's tables. Times are milliseconds of the machine's clock, which is also the database's.

export const now = () => performance.timeOrigin + performance.now();

/** Rules that what a client lost may break. */
const LOSABLE = ['management', 'rotation'];

export function createLedger() {
  const ledger = {
    /** By marker, which is in the data of each event: what was published, and what is known of it. */
    publications: new Map(),
    /** By id. `offs`: when it was switched off (`from`: answered) and on again (`to`: asked). */
    subscriptions: new Map(),
    /** When an operator held all receivers: `from` the answer `to` the release. */
    holds: [],
    posts: [],
    /** By delivery: when a client of the service was told that it has ended. */
    ends: new Map(),
    /** When it was answered, by jti; answered changes by request id: each must be in the audit log. */
    tokens: new Map(),
    changes: new Map(),
    /** Operations of clients, for the linearizability checker. */
    histories: [],
    /** What was seen to be wrong while it happened. */
    violations: [],
    ownEnds: [],
    faults: [],
    replayed: new Set(),
    /** By subscription: when a person tried a delivery again, whose success lets the others go. */
    openedByHand: new Map(),
    crashes: [],
    lost: [],
    answers: {},
    /** When 503, or no answer, was the answer. */
    unavailable: [],
    /** Tokens whose revocation was answered. */
    revoked: [],
    follower: undefined,
    /** Postgres is lost, or is being restored: what a client did before may be gone. */
    isLosing: false,
    /** Events that were accepted in a time that was lost. */
    lostIds: new Set(),
    restoredAt: 0,
  };
  return Object.assign(ledger, {
    violate: (rule, detail) => {
      if (!ledger.isLosing || !LOSABLE.includes(rule)) ledger.violations.push({ rule, detail });
    },
    noteEnd: (delivery, status, at) => {
      const known = ledger.ends.get(delivery);
      if (known === undefined || at < known.at) ledger.ends.set(delivery, { status, at });
    },
    /** One operation of a client on one object. `output` is `unknown` when no definite answer came. */
    noteOperation: (kind, key, { call, end, input, output }) =>
      ledger.histories.push({ kind, key, call, end: output === 'unknown' ? null : end, input, output }),
    /**
     * The service has lost everything since `base`, when its database was copied, until `restored`: what was accepted
     * meanwhile may be gone, and what was ended is not.
     */
    forget: (base, restored) => {
      ledger.lost.push({ from: base, to: restored });
      for (const one of ledger.publications.values())
        if (!(one.answered <= base)) {
          // One that is sent again is accepted anew, with another id.
          for (const id of one.ids) ledger.lostIds.add(id);
          Object.assign(one, { outcome: 'unknown', answered: undefined, ids: new Set() });
        }
      for (const { marker, eventId, at } of ledger.posts)
        if (at > base && at < restored && ledger.publications.get(marker)?.outcome === 'unknown')
          ledger.lostIds.add(eventId);
      for (const [id, one] of ledger.subscriptions) {
        if (one.created > base) ledger.subscriptions.delete(id);
        if (one.deleted > base) one.deleted = undefined;
        // A pause that the copy has lasts again.
        if (one.offs.some(({ from, to }) => from <= base && to > base)) one.offs.push({ from: restored });
      }
      for (const [delivery, { at }] of ledger.ends) if (at > base) ledger.ends.delete(delivery);
      ledger.revoked.splice(0, Number.POSITIVE_INFINITY, ...ledger.revoked.filter(({ at }) => at <= base));
      for (const [jti, at] of ledger.tokens) if (at > base) ledger.tokens.delete(jti);
      for (const [id, { at }] of ledger.changes) if (at > base) ledger.changes.delete(id);
      const touched = ledger.histories.filter(
        ({ call, end }) => call < restored && (end === null || end > base),
      );
      const keys = new Set(touched.map(({ key }) => key));
      ledger.histories.splice(
        0,
        Number.POSITIVE_INFINITY,
        ...ledger.histories.filter(({ key }) => !keys.has(key)),
      );
    },
    count: (answer) => {
      if (answer === 503 || answer === 0) ledger.unavailable.push(now());
      ledger.answers[answer] = (ledger.answers[answer] ?? 0) + 1;
    },
  });
}
