// Notifies the relays of new work by one coalesced NOTIFY on a separate connection, outside the transactions of the
// work. Relays also poll, so a lost notification only delays work.
import type pg from 'pg';
import { endConnections, newSession } from './client.ts';

export const OUTBOX_CHANNEL = 'countersign_outbox';

/** Milliseconds in which at most one NOTIFY is sent. */
const COALESCE_MS = 5;

/** The most bytes of what one notification says; Postgres takes less than 8,000. */
export const MAX_NOTICE_BYTES = 7_900;

/** Milliseconds after a failed connection before the next one. */
const PAUSE_MS = 1_000;

/**
 * @param options.url connection string of the database
 * @param options.channel default: the channel of the relays
 * @param options.pause milliseconds in which at most one NOTIFY is sent
 * @param options.texts what the notifications of one NOTIFY say, each up to `MAX_NOTICE_BYTES`; read when it is sent,
 *   and lost with its connection
 * @param options.onError receives the error of a broken connection; a later `poke` opens a new connection
 * @returns `poke`, to be called after a commit (returns immediately, never throws), and `close`
 */
export function createOutboxNotifier({
  url,
  channel = OUTBOX_CHANNEL,
  pause = COALESCE_MS,
  texts,
  onError,
}: {
  url: string;
  channel?: string | undefined;
  pause?: number | undefined;
  texts?: (() => readonly string[]) | undefined;
  onError?: ((error: Error) => void) | undefined;
}) {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  let pausedUntil = 0;
  let lastPoke = Number.NEGATIVE_INFINITY;
  let closed = false;

  const drop = (lost: pg.Client, error: unknown) => {
    // A replaced client may report an error later; it does not concern the new client.
    if (lost !== client) return;
    client = undefined;
    pausedUntil = Date.now() + PAUSE_MS;
    void endConnections(lost);
    if (!closed) onError?.(error instanceof Error ? error : new Error(String(error)));
  };

  const make = (): pg.Client => {
    const made = newSession(url, 'countersign notifier', (error) => drop(made, error));
    return made;
  };

  const notify = async (): Promise<void> => {
    if (Date.now() < pausedUntil) return;
    const isNew = client === undefined;
    client ??= make();
    const used = client;
    try {
      if (isNew) {
        await used.connect();
        // A NOTIFY writes no data, so its commit need not wait for the disk.
        await used.query('SET synchronous_commit = off');
      }
      if (texts === undefined) await used.query(`NOTIFY ${channel}`);
      else await used.query('SELECT pg_notify($1, unnest($2::text[]))', [channel, texts()]);
    } catch (error) {
      drop(used, error);
    }
  };

  const send = (): void => {
    timer = undefined;
    lastPoke = performance.now();
    sending = sending.then(notify);
  };

  return {
    poke: (): void => {
      if (closed || timer !== undefined) return;
      // The first notification is sent immediately. Notifications within the next milliseconds share one NOTIFY.
      const wait = lastPoke + pause - performance.now();
      if (wait <= 0) send();
      else timer = setTimeout(send, wait);
    },

    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(timer);
      await sending;
      await endConnections(client);
    },
  };
}
