// Wires `countersign worker-version`.
import { wireRecords } from '../../events/wire.ts';
import { wireOperatorActs } from '../../operations/operators/wire.ts';
import type { Config } from '../../platform/config.ts';
import { SILENT } from '../../platform/logging.ts';
import { openPlatform, type Platform } from '../../platform/platform.ts';
import { createLazyConnection } from '../../platform/temporal/client.ts';
import { createWorkerVersions } from '../../platform/temporal/worker-version.ts';

/** Wires `countersign worker-version`, which needs no master key. Only commands that write call `openActs`. */
export function wireWorkerVersions(config: Config) {
  const { namespace } = config.temporal;
  const connection = createLazyConnection(config.temporal);
  let platform: Platform | undefined;
  return {
    versions: createWorkerVersions({ connection, namespace }),
    /** Opens the log of operator acts. @throws ConfigError without a database */
    openActs: () => {
      platform = openPlatform(config, { logger: SILENT, name: 'command' });
      return wireOperatorActs(platform, { records: wireRecords(platform) });
    },
    close: async () => {
      await connection.close();
      await platform?.close();
    },
  };
}
