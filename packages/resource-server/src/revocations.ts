// Follows the tenant's event feed and knows within a second what has ended (docs/events.md, "The feed"). Any number of
// processes can follow it, and one that starts reads back what living tokens may have lost before. At the feed's end it
// follows a stream, and goes on by pages where the service has none.
// docs/decisions/0033-resource-servers.md
import { isObject, isText, type SignedToken } from './claims.ts';
import { type ClientCredentials, createIssuerClient, UnexpectedAnswer } from './client.ts';
import { type FeedMessage, requestFeed } from './feed-stream.ts';
import { CLOCK_SKEW_MS, createRevocationBook, ENDING_TYPES, type FeedEvent } from './revocation-book.ts';

export type RevocationsOptions = {
  readonly issuer: string;
  /** Where the routes of the service are; the issuer's address unless it is given. */
  readonly baseUrl?: string | undefined;
  /** An application with the scope `events:read`. */
  readonly credentials: ClientCredentials;
  /** Milliseconds between two reads, where the service has no stream of its feed; 400 by default. */
  readonly intervalMs?: number | undefined;
  /**
   * Seconds since the time until which the feed is known completely, from which it is unreachable; 3, or five
   * intervals, by default.
   */
  readonly staleAfterSeconds?: number | undefined;
  /**
   * While the feed is unreachable: `refuse` every token (503), `introspect` it, or go on to accept tokens by their
   * signature for `acceptForSeconds` after that time, and refuse then. The default is `introspect` where
   * the guard has introspection, and otherwise `refuse`.
   */
  readonly whileStale?: 'refuse' | 'introspect' | { readonly acceptForSeconds: number } | undefined;
  /**
   * The longest life of the issuer's tokens (`ACCESS_TOKEN_LIFETIME`); 3600 by default. So far back the feed is read at
   * the start, and so long an entry is kept. A token with a longer life is judged as while the feed is unreachable.
   */
  readonly longestTokenSeconds?: number | undefined;
  /**
   * Entries at most; 100,000 by default. Beyond, a token that names what was left out, and 1 in some hundred others, is
   * judged as while the feed is unreachable. A client that ends its own tokens fills a hundredth: beyond, all that it
   * got until then is refused.
   */
  readonly limit?: number | undefined;
  /** Receives the first failure of several in a row; `console.warn` by default. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Milliseconds since 1970: from when on the feed is read back, and the time of assertions and proofs, until the
   * service has said its own time.
   */
  readonly now?: (() => number) | undefined;
  /** Milliseconds of a clock that nobody sets, from which ages are counted; `performance.now` by default. */
  readonly elapsed?: (() => number) | undefined;
};

/** What is known of a token. `unknown`: the feed cannot say it now. */
export type RevocationVerdict = 'live' | 'ended' | 'unknown';

const PAGE = 200;
const SLOWEST_RETRY_MS = 5_000;

export type Revocations = ReturnType<typeof followRevocations>;

/** Begins to follow the feed. End it with `close`. It needs a process that goes on between requests. */
export function followRevocations(options: RevocationsOptions) {
  const {
    issuer,
    baseUrl = issuer,
    credentials,
    intervalMs = 400,
    staleAfterSeconds = Math.max(3, (5 * intervalMs) / 1000),
    longestTokenSeconds = 3_600,
    limit = 100_000,
    onError = printWarning,
    fetch = globalThis.fetch,
    now = Date.now,
    elapsed = () => performance.now(),
  } = options;
  const book = createRevocationBook({ longestTokenSeconds, limit });
  const client = createIssuerClient({ issuer, credentials, fetch, now, elapsed });
  /** By how much the service's time is ahead of `elapsed`, as the last page says. */
  let ahead: number | undefined;
  const serviceTime = () => (ahead === undefined ? now() : elapsed() + ahead);
  let cursor: string | undefined;
  const keyRevoked = new Set<() => void>();
  let resolveFirst: () => void = () => undefined;
  const first = new Promise<void>((resolve) => {
    resolveFirst = resolve;
  });
  let completeAt = Number.NEGATIVE_INFINITY;
  let completeUntil: string | undefined;
  let failures = 0;
  /** Answers that refuse this application's request, since the last that did not. */
  let refusals = 0;
  let lastError: unknown;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  let isAtEnd = false;
  const closing = new AbortController();
  let reading: Promise<void> = Promise.resolve();

  async function readPage(): Promise<boolean> {
    const askedAt = elapsed();
    const since = serviceTime() - longestTokenSeconds * 1000 - CLOCK_SKEW_MS;
    const query = new URLSearchParams({
      type: ENDING_TYPES.join(','),
      limit: String(PAGE),
      ...(cursor === undefined ? { since: new Date(since).toISOString() } : { after: cursor }),
    });
    const answer = await requestFeed(await client.authorize(), `${baseUrl}/api/v1/events?${query}`, {
      // Before the end its first time would come long after the request.
      asStream: isAtEnd,
      closing: closing.signal,
    });
    if ('messages' in answer) return followStream(answer.messages, askedAt);
    const { page } = answer;
    if (!Array.isArray(page.data) || !isText(page.next_cursor)) throw new Error('The feed cannot be read.');
    const { complete_until: until } = page;
    const readAt = Date.parse(String(page.read_at));
    if (Number.isFinite(readAt)) ahead = readAt - elapsed();
    for (const event of page.data.flatMap((item) => readEvent(item) ?? [])) take(event);
    // The clock of this server is ahead of the service's: it is read back once more, by that.
    if (cursor === undefined && readAt - since < longestTokenSeconds * 1000) return true;
    cursor = page.next_cursor;
    if (isText(until)) {
      // Both are the service's times, and this server's own time has passed since the request.
      const behind = readAt - Date.parse(until);
      if (!Number.isFinite(behind)) throw new Error('The feed does not say how far it is complete.');
      completeAt = Math.max(completeAt, askedAt - Math.max(0, behind));
      completeUntil = until;
    }
    isAtEnd = page.has_more !== true;
    return !isAtEnd;
  }

  /** Follows a stream until it ends. @param askedAt when it was asked for, which its first time cannot be before */
  async function followStream(messages: AsyncIterable<FeedMessage>, askedAt: number): Promise<false> {
    let first: number | undefined;
    for await (const { id, event, completeUntil: until } of messages) {
      const ending = event === undefined ? undefined : readEvent(event);
      if (ending !== undefined) take(ending);
      if (id !== '') cursor = id;
      if (until === undefined) continue;
      const at = Date.parse(until);
      if (!Number.isFinite(at)) throw new Error('The feed does not say how far it is complete.');
      first ??= at;
      // Until then by the service's clock, and not later than now: a proxy may have kept it back.
      completeAt = Math.max(completeAt, Math.min(elapsed(), askedAt + at - first));
      completeUntil = until;
      settle();
    }
    return false;
  }

  function take(event: FeedEvent): void {
    book.add(event, serviceTime());
    if (event.type === 'admin.issuer.key.revoked') for (const tell of keyRevoked) tell();
  }

  async function poll(): Promise<void> {
    try {
      while (!isClosed && (await readPage()));
      settle();
      resolveFirst();
    } catch (error) {
      recover(error);
    }
  }

  function settle(): void {
    failures = 0;
    refusals = 0;
    book.forget(serviceTime());
  }

  function recover(error: unknown): void {
    if (isClosed) return;
    isAtEnd = false;
    lastError = error;
    const status = error instanceof UnexpectedAnswer ? error.status : undefined;
    if (status === 401) client.forget();
    if (status === 401 || status === 400) refusals += 1;
    // The issuer answers, and tells this server nothing: its tenant is suspended, or its application lacks the scope.
    // Or the application has ended: then another token and another cursor are refused, too.
    if (status === 403 || refusals > 1) completeAt = Number.NEGATIVE_INFINITY;
    // The cursor is older than the events that are kept, of another database, or sealed with a key that this process of
    // the service lacks: what it missed is read back.
    if (status === 410 || status === 400) cursor = undefined;
    failures += 1;
    if (failures === 1) onError(error);
  }

  async function run(): Promise<void> {
    const startedAt = elapsed();
    await poll();
    if (isClosed) return;
    const slowest = Math.max(SLOWEST_RETRY_MS, intervalMs);
    const pause = Math.min(intervalMs * 2 ** Math.min(failures, 10), slowest);
    const spent = failures === 0 ? elapsed() - startedAt : 0;
    // A service that answers late is not asked without a pause.
    timer = setTimeout(start, Math.max(pause - spent, intervalMs / 4));
    // In Node a timer would keep a process alive that has nothing else to do.
    (timer as unknown as { unref?: () => void }).unref?.();
  }

  function start(): void {
    reading = run();
  }
  start();

  const ageSeconds = () => (elapsed() - completeAt) / 1000;

  return {
    whileStale: options.whileStale,

    /** Says whether a token has ended. @param token whose signature was verified */
    judge: (token: SignedToken): RevocationVerdict => {
      if (book.hasEnded(token, serviceTime())) return 'ended';
      const { exp, iat } = token.claims;
      const isRemembered =
        Number(exp) - Number(iat) <= longestTokenSeconds && !book.mayHaveEnded(token, serviceTime());
      return isRemembered && ageSeconds() <= staleAfterSeconds ? 'live' : 'unknown';
    },

    /** For the log: why the verdict on a token is `unknown` now. */
    explainUnknown: (token: SignedToken): unknown => {
      if (failures > 0) return lastError;
      if (book.mayHaveEnded(token, serviceTime()))
        return new Error(`The token may be of what has ended beyond the ${limit} entries of \`limit\`.`);
      if (ageSeconds() <= staleAfterSeconds) return new Error('The token lives for too long.');
      return new Error(`The feed is complete until ${completeUntil ?? 'no known time'}, and no further.`);
    },

    /** Resolves when the feed was read to its end; a server that waits for it refuses nobody at its start. */
    ready: (): Promise<void> => first,

    /** For health checks: until when the feed is known completely, and seconds since; entries; the last failure. */
    status: () => ({ ageSeconds: ageSeconds(), completeUntil, entries: book.size, failures, lastError }),

    /** Calls back when the issuer has revoked a key. */
    onIssuerKeyRevoked: (listener: () => void): void => {
      keyRevoked.add(listener);
    },

    /** Stops following, and waits for a read that is under way. */
    close: async (): Promise<void> => {
      isClosed = true;
      closing.abort();
      clearTimeout(timer);
      await reading;
    },
  };
}

/** @returns undefined for an event that ends nothing, whatever is in it: other systems publish some of them */
function readEvent(item: unknown): FeedEvent | undefined {
  if (!isObject(item) || !isText(item.type) || !ENDING_TYPES.includes(item.type)) return undefined;
  const occurredAt = Date.parse(String(item.occurred_at));
  if (!Number.isFinite(occurredAt) || !isObject(item.data))
    throw new Error(`An event of the type ${item.type} cannot be read.`);
  return { type: item.type, occurredAt, data: item.data };
}

function printWarning(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: the one output that every JavaScript runtime has
  console.warn('The revocations cannot be followed:', error);
}
