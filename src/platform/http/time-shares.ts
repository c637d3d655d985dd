// Shares the computing time of a process among tenants: what a request costs delays the next one of its tenant.
// docs/decisions/0051-time-shares.md
import { performance } from 'node:perf_hooks';

/** The part of the event loop's time that one tenant may use beside others. */
const SHARE = 0.5;

/** Milliseconds: what a request costs before one of its tenant has ended, and the most that a tenant has unused. */
const USUAL_COST = 1;
const UNUSED = 10;

/** Milliseconds for which a tenant waits at most, whatever one request has cost. */
const LONGEST = 1_000;

/** How much the cost of a request changes what the next ones are expected to cost. */
const WEIGHT = 0.1;

export type TimeShares = ReturnType<typeof createTimeShares>;

/** `freeAt`: when the time that the tenant has used is its share of what has passed. */
type Account = { freeAt: number; expected: number; running: number };

type TimeSharesNeeds = { now?: (() => number) | undefined; active?: (() => number) | undefined };

/**
 * The event loop's busy time is divided by the requests that are at work meanwhile. A request is charged with what is
 * expected when it begins, so that not many begin before the first has cost anything.
 * @param options.now a monotonic clock in milliseconds
 * @param options.active milliseconds for which the event loop has been busy
 */
export function createTimeShares({ now = () => performance.now(), active = busyTime }: TimeSharesNeeds = {}) {
  const accounts = new Map<string, Account>();
  /** The busy time of a request that has always been at work. */
  let each = 0;
  let running = 0;
  let seen = active();

  function divide(): void {
    const latest = active();
    if (running > 0) each += Math.max(0, latest - seen) / running;
    seen = Math.max(seen, latest);
  }

  const charge = (account: Account, milliseconds: number): void => {
    account.freeAt = Math.min(account.freeAt + milliseconds / SHARE, now() + LONGEST);
  };

  /** What a tenant has not used for a while is gone. */
  function accountOf(owner: string): Account {
    const account = accounts.get(owner) ?? { freeAt: 0, expected: USUAL_COST, running: 0 };
    account.freeAt = Math.max(account.freeAt, now() - UNUSED);
    accounts.set(owner, account);
    return account;
  }

  return {
    /** Milliseconds until further work of the tenant may begin; 0: now. */
    delay: (owner: string): number => Math.max(0, (accounts.get(owner)?.freeAt ?? 0) - now()),

    /** Counts a request as at work. @returns a function that is called at its end */
    begin(owner: string): () => void {
      divide();
      running += 1;
      const account = accountOf(owner);
      account.running += 1;
      const begun = each;
      const { expected } = account;
      charge(account, expected);
      return () => {
        divide();
        running -= 1;
        account.running -= 1;
        const cost = each - begun;
        account.expected += (cost - expected) * WEIGHT;
        charge(account, cost - expected);
        if (account.running === 0 && account.freeAt <= now() - UNUSED) accounts.delete(owner);
      };
    },

    /** Charges work in one piece, which has just ended and no request at work has cost. */
    spend(owner: string, milliseconds: number): void {
      seen += milliseconds;
      charge(accountOf(owner), milliseconds);
    },

    /** The tenants that have an account. */
    size: (): number => accounts.size,
  };
}

function busyTime(): number {
  return performance.eventLoopUtilization().active;
}
