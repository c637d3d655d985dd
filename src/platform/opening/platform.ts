// Opens the shared services of a process, which every room uses: settings, log, database, notifications, metrics,
// traces.
import { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import type { DatabaseLimits } from '../database/database.ts';
import { createOutboxListener } from '../database/listener.client.ts';
import { createOutboxNotifier, OUTBOX_CHANNEL } from '../database/notifier.client.ts';
import type { Log } from '../logging.ts';
import { createObjectives } from '../metrics/objectives.ts';
import { countRepeatedLines } from '../repeated-lines.ts';
import { NO_TRACING, type Tracing } from '../tracing/tracing.ts';
import { openDatabase } from './open-database.ts';

export type Platform = ReturnType<typeof openPlatform>;

/** Notifications between the processes of one database. */
export type Channel = {
  poke(): void;
  /** Calls `onNotice` with each notification until `close`; without a text when some may have been missed. */
  listen(onNotice: (text?: string) => void): { close(): Promise<void> };
};

/** How often a channel notifies, and what its notifications say (notifier.client.ts). */
export type ChannelOptions = Pick<Parameters<typeof createOutboxNotifier>[0], 'pause' | 'texts'>;

/**
 * Opens the shared services; each connection is made at its first use.
 * @param options.name shown in pg_stat_activity
 * @param options.limits of the database, in milliseconds; replace the defaults
 * @throws ConfigError without a database
 */
export function openPlatform(
  config: Config,
  {
    logger,
    name,
    tracing = NO_TRACING,
    limits,
  }: {
    logger: Log;
    name: string;
    tracing?: Tracing | undefined;
    limits?: DatabaseLimits | undefined;
  },
) {
  const { log, flush } = countRepeatedLines(logger);
  const { database, url, onError } = openDatabase(config, { log, name, limits });
  const registry = new Registry();
  const notifiers: { close(): Promise<void> }[] = [];
  const openChannel = (channel: string, options: ChannelOptions = {}): Channel => {
    const notifier = createOutboxNotifier({ ...options, url, channel, onError });
    notifiers.push(notifier);
    return {
      poke: notifier.poke,
      listen: (onWork) => createOutboxListener({ url, channel, onWork, onError }),
    };
  };
  return {
    config,
    log,
    database,
    notifier: openChannel(OUTBOX_CHANNEL),
    openChannel,
    registry,
    objectives: createObjectives({ registry }),
    tracing,
    /** `now`: the database's time in milliseconds since 1970. `monotonic`: milliseconds of a monotonic clock. */
    clock: { now: database.clock.now, monotonic: database.clock.monotonic },
    /** Called after the rooms have closed. */
    close: async () => {
      await Promise.all(notifiers.map((notifier) => notifier.close()));
      await database.close();
      flush();
    },
  };
}
