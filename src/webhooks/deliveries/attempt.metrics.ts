// The metrics of attempts and deliveries in a worker. Labels are outcomes and classes of errors, never tenants.
import { Counter, Histogram, type Registry } from 'prom-client';
import type { ErrorClass, Outcome } from '../../platform/egress/outcome.ts';
import type { Objectives } from '../../platform/metrics/objectives.ts';
import type { AttemptReport, FinalStatus } from './attempt.ts';
import type { AttemptPhases, AttemptResult } from './delivery.client.ts';

/** Buckets in seconds, from the fastest attempt to the end of the retry schedule. */
const LATENCIES = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 43_200, 259_200,
];
const PHASE_TIMES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const LAGS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300];

/** `held`: no attempt was made, because the endpoint was closed or had no free place. */
type AttemptOutcome = Outcome['kind'] | 'held';

const PHASES: Readonly<Record<keyof AttemptPhases, string>> = {
  dns_ms: 'dns',
  connect_ms: 'connect',
  tls_ms: 'tls',
  first_byte_ms: 'first_byte',
  total_ms: 'total',
};

/** @returns functions that the attempt services call, one for each occurrence; each only increments in memory */
export function createAttemptMetrics({
  registry,
  objectives,
}: {
  registry: Registry;
  objectives: Pick<Objectives, 'note'>;
}) {
  const registers = [registry];
  const attempts = new Counter({
    name: 'countersign_delivery_attempts_total',
    help: 'Attempts by outcome and class of error; "held": none was made, because the endpoint was closed or full.',
    labelNames: ['outcome', 'error_class'],
    registers,
  });
  const phases = new Histogram({
    name: 'countersign_delivery_attempt_phase_seconds',
    help: 'Time of an attempt by phase; a kept-alive connection has no dns, connect and tls.',
    labelNames: ['phase'],
    buckets: PHASE_TIMES,
    registers,
  });
  const latencies = new Histogram({
    name: 'countersign_delivery_latency_seconds',
    help: 'Time from the acceptance of an event to the 2xx of its receiver, by whether the first attempt had it.',
    labelNames: ['attempt'],
    buckets: LATENCIES,
    registers,
  });
  const lags = new Histogram({
    name: 'countersign_delivery_timer_lag_seconds',
    help: 'How much later than it was due an attempt after the first began.',
    buckets: LAGS,
    registers,
  });
  const ended = new Counter({
    name: 'countersign_deliveries_ended_total',
    help: 'Deliveries that an attempt, or the lack of one, has ended, by status.',
    labelNames: ['status'],
    registers,
  });
  const children = new Map<string, { inc(): void }>();
  const count = (outcome: AttemptOutcome, errorClass: ErrorClass | 'none'): void => {
    const key = `${outcome} ${errorClass}`;
    const child = children.get(key) ?? attempts.labels(outcome, errorClass);
    children.set(key, child);
    child.inc();
  };
  const timed = Object.entries(PHASES).map(
    ([field, phase]) => [field as keyof AttemptPhases, phases.labels(phase)] as const,
  );
  const first = latencies.labels('first');
  const retried = latencies.labels('retried');

  return {
    /**
     * Counts the beginning of an attempt after the first.
     * @param lateMs milliseconds since the attempt was due; null without a due time, negative when it begins early
     */
    begun: (lateMs: number | null): void => {
      if (lateMs !== null && lateMs >= 0) lags.observe(lateMs / 1_000);
    },

    /** Counts a first attempt at an endpoint that could take it. @param waitedMs milliseconds since the acceptance */
    begunFirst: (waitedMs: number): void => objectives.note('first_attempts', waitedMs / 1_000),

    held: (): void => count('held', 'none'),

    made: ({ outcome, phases: times }: Pick<AttemptResult, 'outcome' | 'phases'>): void => {
      count(outcome.kind, outcome.kind === 'delivered' ? 'none' : outcome.errorClass);
      for (const [field, child] of timed) {
        const time = times[field];
        if (time !== null) child.observe(time / 1_000);
      }
    },

    /**
     * Counts the end of a delivery.
     * @param attempt the last attempt and the time of acceptance, both by the database's clock; undefined when no
     *   attempt ended the delivery
     */
    ended: (
      status: FinalStatus,
      attempt?: { readonly report: AttemptReport; readonly acceptedAt: Date } | undefined,
    ): void => {
      ended.inc({ status });
      if (status !== 'delivered' || attempt === undefined) return;
      const { report, acceptedAt } = attempt;
      const waited = Date.parse(report.startedAt) - acceptedAt.getTime();
      const latency = Math.max(0, waited + report.durationMs) / 1_000;
      (report.n === 1 ? first : retried).observe(latency);
    },
  };
}

export type AttemptMetrics = ReturnType<typeof createAttemptMetrics>;
