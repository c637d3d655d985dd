// The wiring of `countersign worker-version`. It needs no master key, and the database only for the record of what was changed.
import { createAuditService } from '../../audit/audit.service.ts';
import { createOperatorActService } from '../../operations/operators/operator-act.service.ts';
import { type Config, databaseMissing } from '../../platform/config.ts';
import { createDatabase } from '../../platform/database/database.ts';
import { createLazyConnection } from '../../platform/temporal/client.ts';
import { createWorkerVersions } from '../../platform/temporal/worker-version.ts';

/** Wires the commands; `openActs` is asked for by those that change something. @throws ConfigError there, without a database */
export function composeWorkerVersions({ temporal, databaseUrl }: Pick<Config, 'temporal' | 'databaseUrl'>) {
  const connection = createLazyConnection(temporal);
  let database: ReturnType<typeof createDatabase> | undefined;
  return {
    versions: createWorkerVersions({ connection, namespace: temporal.namespace }),
    openActs: () => {
      if (databaseUrl === undefined) throw databaseMissing();
      database = createDatabase({ url: databaseUrl, pool: 2, applicationName: 'countersign command' });
      const audit = createAuditService();
      return createOperatorActService({ database, audit });
    },
    close: async () => {
      await connection.close();
      await database?.close();
    },
  };
}
