// Tells the relays that there may be work: one coalesced NOTIFY on a connection of its own, never inside a working transaction.
// It is an accelerator only: relays also poll, so a lost notification delays work and loses none.
import pg from 'pg';

/** The channel that relays listen on. */
export const OUTBOX_CHANNEL = 'countersign_outbox';

/** At most one NOTIFY in so many milliseconds. */
const COALESCE_MS = 5;

/** After a failed connection nothing is tried for so long. */
const PAUSE_MS = 1_000;

/**
 * @param options.url connection string of the database
 * @param options.channel another one than the relays'
 * @param options.onError told when the connection broke; the next `poke` opens another
 * @returns `poke`, to be called after a commit (returns at once, never throws), and `close`
 */
export function createOutboxNotifier({
  url,
  channel = OUTBOX_CHANNEL,
  onError,
}: {
  url: string;
  channel?: string | undefined;
  onError?: ((error: Error) => void) | undefined;
}) {
  let client: Promise<pg.Client> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  let pausedUntil = 0;
  let lastPoke = Number.NEGATIVE_INFINITY;
  let closed = false;

  const drop = (error: Error) => {
    client = undefined;
    pausedUntil = Date.now() + PAUSE_MS;
    if (!closed) onError?.(error);
  };

  const connect = async (): Promise<pg.Client> => {
    const opened = new pg.Client({
      connectionString: url,
      application_name: 'countersign notifier',
      connectionTimeoutMillis: 2_000,
      statement_timeout: 5_000,
      query_timeout: 6_000,
      keepAlive: true,
    });
    opened.on('error', drop);
    await opened.connect();
    // A notification has nothing to keep: it need not wait for the disk.
    await opened.query('SET synchronous_commit = off');
    return opened;
  };

  const notify = async (): Promise<void> => {
    if (Date.now() < pausedUntil) return;
    try {
      client ??= connect();
      const open = await client;
      await open.query(`NOTIFY ${channel}`);
    } catch (error) {
      drop(error instanceof Error ? error : new Error(String(error)));
    }
  };

  return {
    poke: (): void => {
      if (closed || timer !== undefined) return;
      // The first one goes out at once; those that follow closely share the next.
      const wait = Math.max(0, lastPoke + COALESCE_MS - performance.now());
      timer = setTimeout(() => {
        timer = undefined;
        lastPoke = performance.now();
        sending = sending.then(notify);
      }, wait);
    },
    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(timer);
      await sending;
      const open = await client?.catch(() => undefined);
      await open?.end().catch(() => undefined);
    },
  };
}
