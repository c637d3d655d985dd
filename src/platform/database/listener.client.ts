// Listens on a separate connection for notifications of committed work. A notification may be lost, so its users also
// poll.
import type pg from 'pg';
import { endConnections, newSession } from './client.ts';
import { OUTBOX_CHANNEL } from './notifier.client.ts';

const PAUSE_MS = 1_000;

/**
 * @param options.url connection string of the database
 * @param options.channel default: the channel of the relays
 * @param options.onWork called with the text of each notification, and without one after each connect, because
 *   notifications may have been missed
 * @param options.onError receives the error of a connection that broke
 * @returns `close`
 */
export function createOutboxListener({
  url,
  channel = OUTBOX_CHANNEL,
  onWork,
  onError,
}: {
  url: string;
  channel?: string | undefined;
  onWork: (text?: string) => void;
  onError?: ((error: Error) => void) | undefined;
}) {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const again = (lost: pg.Client, error: unknown) => {
    // A replaced client may report an error later; it does not concern the new client.
    if (closed || lost !== client) return;
    onError?.(error instanceof Error ? error : new Error(String(error)));
    client = undefined;
    void endConnections(lost);
    timer = setTimeout(() => {
      timer = undefined;
      void open();
    }, PAUSE_MS);
  };

  const open = async (): Promise<void> => {
    const opened = newSession(url, `countersign listener ${channel}`, (error) => again(opened, error));
    client = opened;
    opened.on('end', () => again(opened, new Error('the connection ended')));
    opened.on('notification', ({ payload }) => onWork(payload));
    try {
      await opened.connect();
      await opened.query(`LISTEN ${channel}`);
      onWork();
    } catch (error) {
      again(opened, error);
    }
  };

  const opening = open();
  return {
    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(timer);
      await opening;
      await endConnections(client);
    },
  };
}
