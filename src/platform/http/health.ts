// Reports whether this process is alive and whether it should receive requests. A probe is cheap and has a time limit.
import { within } from '../within.ts';

const PATIENCE_MILLISECONDS = 1_000;
const TEMPORAL_FRESH_MILLISECONDS = 5_000;

/** The states in `/readyz`. An api is ready without Temporal, because a missing Temporal only delays deliveries. */
type Readiness = {
  readonly ready: boolean;
  readonly database: 'ok' | 'unavailable' | 'migrations_pending';
  readonly temporal: 'ok' | 'degraded';
  readonly draining: boolean;
};

/**
 * @param options.ping rejects when the database does not answer, or not as the service reads it; called after the
 *   migrations
 * @param options.pendingMigrations names of migrations that the database lacks; called until there are none
 * @param options.passedStartChecks true when the settings fit the database; called after the migrations, until it is
 *   true
 * @param options.probeTemporal true when Temporal answers; its result is reused for 5 seconds
 */
export function createHealth({
  ping,
  pendingMigrations,
  passedStartChecks = async () => true,
  probeTemporal,
}: {
  ping: () => Promise<unknown>;
  pendingMigrations: () => Promise<readonly string[]>;
  passedStartChecks?: (() => Promise<boolean>) | undefined;
  probeTemporal: () => Promise<boolean>;
}) {
  let draining = false;
  let migrated = false;
  let asking: Promise<Readiness['database']> | undefined;
  const askTemporal = remember(() => answerInTime(probeTemporal()).catch(() => false));

  const checkDatabase = async (): Promise<Readiness['database']> => {
    try {
      migrated ||= (await answerInTime(pendingMigrations())).length === 0;
      if (!migrated) return 'migrations_pending';
      await answerInTime(ping());
      return (await answerInTime(passedStartChecks())) ? 'ok' : 'unavailable';
    } catch {
      return 'unavailable';
    }
  };

  /** Probes have no rate limit, so concurrent probes share one query to the database. */
  const askDatabase = (): Promise<Readiness['database']> => {
    asking ??= checkDatabase().finally(() => {
      asking = undefined;
    });
    return asking;
  };

  return {
    /** From now on the process is not ready, so that the load balancer chooses another process. */
    beginDrain(): void {
      draining = true;
    },
    async ready(): Promise<Readiness> {
      const [database, temporal] = await Promise.all([askDatabase(), askTemporal()]);
      return {
        ready: database === 'ok' && !draining,
        database,
        temporal: temporal ? 'ok' : 'degraded',
        draining,
      };
    },
  };
}

export type Health = ReturnType<typeof createHealth>;

/** Callers within a few seconds share one probe. */
function remember(probe: () => Promise<boolean>): () => Promise<boolean> {
  let asked = Number.NEGATIVE_INFINITY;
  let answer: Promise<boolean> = Promise.resolve(false);
  return () => {
    if (Date.now() - asked > TEMPORAL_FRESH_MILLISECONDS) {
      asked = Date.now();
      answer = probe();
    }
    return answer;
  };
}

/** Passes an answer on. @throws when there is none within a second */
export function answerInTime<T>(work: Promise<T>): Promise<T> {
  return within(PATIENCE_MILLISECONDS, work, () => {
    throw new Error('No answer in time.');
  });
}
