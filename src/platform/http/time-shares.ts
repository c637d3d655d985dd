// Shares the computing time of a process among tenants: what the requests of a tenant have cost delays its next one.
// docs/decisions/0051-time-shares.md

/** The part of the time for which a process may compute for one tenant beside others. */
const SHARE = 0.5;

/** Milliseconds: what a request costs until that is known, and the time for which an unused share is kept. */
const USUAL_COST = 1;
const UNUSED = 10;

/** Milliseconds for which a tenant waits at most, whatever one request has cost. */
const LONGEST = 1_000;

/** How much one request changes what the next ones of its tenant are expected to cost. */
const WEIGHT = 0.1;

/** `freeAt`: when the tenant's share of the time will be as long as what it has used. `spent`: since its last end. */
type Account = { freeAt: number; expected: number; spent: number; running: number };

type TimeSharesNeeds = { now?: (() => number) | undefined; computed?: (() => number) | undefined };

/**
 * What is computed between two marks belongs to the tenant of the second one: a request ends in the round of the event
 * loop that has computed its answer. That is an estimate, so a tenant with few requests never waits by it
 * (request-turns.ts). A request is charged with what is expected when it begins, so that not many begin before the
 * first has cost anything.
 * @param options.now a monotonic clock in milliseconds
 * @param options.computed milliseconds for which this process has computed
 */
export function createTimeShares({
  now = () => performance.now(),
  computed = timeOfProcess,
}: TimeSharesNeeds = {}) {
  const accounts = new Map<string, Account>();
  let markedAt = computed();

  const charge = (account: Account, milliseconds: number): void => {
    account.freeAt = Math.min(account.freeAt + milliseconds / SHARE, now() + LONGEST);
  };

  function accountOf(tenantId: string): Account {
    const account = accounts.get(tenantId) ?? { freeAt: 0, expected: USUAL_COST, spent: 0, running: 0 };
    account.freeAt = Math.max(account.freeAt, now() - UNUSED);
    accounts.set(tenantId, account);
    return account;
  }

  function mark(account: Account): void {
    const latest = computed();
    account.spent += latest - markedAt;
    charge(account, latest - markedAt);
    markedAt = latest;
  }

  return {
    /** Milliseconds until further work of the tenant may begin; 0: now. */
    delay: (tenantId: string): number => Math.max(0, (accounts.get(tenantId)?.freeAt ?? 0) - now()),

    /** Charges a tenant with the time since the mark before; without a tenant, nobody. */
    mark(tenantId?: string): void {
      if (tenantId === undefined) markedAt = computed();
      else mark(accountOf(tenantId));
    },

    /** Marks the beginning of a request. @returns a function that is called when its answer has been written */
    begin(tenantId: string): () => void {
      const account = accountOf(tenantId);
      const { expected } = account;
      mark(account);
      charge(account, expected);
      account.running += 1;
      return () => {
        mark(account);
        charge(account, -expected);
        account.expected += (account.spent - account.expected) * WEIGHT;
        account.spent = 0;
        account.running -= 1;
        if (account.running === 0 && account.freeAt <= now() - UNUSED) accounts.delete(tenantId);
      };
    },

    /** The tenants that have an account. */
    size: (): number => accounts.size,
  };
}

export type TimeShares = ReturnType<typeof createTimeShares>;

function timeOfProcess(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
