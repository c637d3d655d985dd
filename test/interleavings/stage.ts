// The processes in which the units of a schedule run: rooms over one database, a fresh tenant for each schedule.
import { randomBytes } from 'node:crypto';
import type { RequestContext } from '../../src/platform/context.ts';
import { sqlState } from '../../src/platform/database/errors.ts';
import { ServiceError } from '../../src/platform/errors/service-error.ts';
import { createEndingRooms, type EndingRooms } from '../authentication/endings.ts';
import { createTestTenant } from '../identity/agents/agent-rooms.ts';
import { createTestDatabase } from '../setup/database.ts';
import { createScheduler, type End, type Schedule, type Unit } from './scheduler.ts';
import { createRandom, type SeededRandom } from './seeded-random.ts';
import { printTrace } from './trace.ts';

/** One schedule's units, and what must hold when they have ended. */
export type Case = {
  readonly units: readonly Unit[];
  /** As those of the scenario, for this case alone. */
  readonly refusals?: readonly string[];
  /** @returns what does not hold */
  readonly check: (schedule: Schedule) => Promise<readonly string[]>;
};

/** `least`: so many seeds have each of its cases. @param prepare makes the rows of a schedule, and chooses its units */
export type Scenario = {
  readonly name: string;
  /** Codes with which a unit may be refused, because another came first. */
  readonly refusals: readonly string[];
  readonly least?: number;
  readonly prepare: (stage: Stage, random: SeededRandom, seed: number) => Promise<Case>;
};

export type Result = {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly trace: string;
  readonly certain: number;
};

export type Stage = Awaited<ReturnType<typeof createStage>>;

const PROCESSES = 4;

/**
 * @param options.alter see `createScheduler`
 * @returns four processes over a database of their own. `read` is a connection outside of the schedules
 */
export async function createStage({ alter }: { alter?: (text: string) => string } = {}) {
  const test = await createTestDatabase();
  const scheduler = await createScheduler({ url: test.url, processes: PROCESSES, alter });
  const masterKeys = [{ id: 'test', key: randomBytes(32) }];
  const rooms = scheduler.databases.map((database) => createEndingRooms(database, masterKeys));
  const [first] = rooms;
  if (first === undefined) throw new Error('no process');
  return {
    scheduler,
    databases: scheduler.databases,
    masterKeys,
    /** The rooms of the process in which a unit runs. */
    rooms: (process: number): EndingRooms => rooms[process % PROCESSES] ?? first,
    read: test.database,
    createTenant: (): Promise<RequestContext> => createTestTenant(first),
    close: async () => {
      await Promise.all(rooms.map((one) => one.closeRooms()));
      await scheduler.close();
      await test.drop();
    },
  };
}

/** Runs the schedule of a seed. The same seed is the same schedule. */
export async function runSeed(stage: Stage, scenario: Scenario, seed: number): Promise<Result> {
  const random = createRandom(seed);
  const { units, check, refusals = [] } = await scenario.prepare(stage, random, seed);
  const schedule = await stage.scheduler.run(units, random);
  const violations = [
    ...(schedule.stuck === undefined ? [] : [schedule.stuck]),
    ...(schedule.stuck === undefined ? judgeEnds(schedule, [...scenario.refusals, ...refusals]) : []),
    ...(schedule.stuck === undefined ? await check(schedule) : []),
  ];
  return { seed, violations, trace: printTrace(schedule.trace), certain: schedule.certain };
}

/** Whether two runs of a seed had the same steps, as far as these are certain. */
export function isSame(one: Result, other: Result): boolean {
  const certain = Math.min(one.certain, other.certain);
  const stepsOf = ({ trace }: Result) => trace.split('\n').slice(0, certain);
  const [steps, others] = [stepsOf(one), stepsOf(other)];
  return (
    steps.length === others.length && steps.every((step, n) => withoutWidth(step) === withoutWidth(others[n]))
  );
}

const withoutWidth = (line = '') => line.replaceAll(/ +/g, ' ');

/** A unit may be refused as a request may be, and may fail where it has lost a connection. */
function judgeEnds({ ends, faulted }: Schedule, refusals: readonly string[]): string[] {
  return [...ends].flatMap(([unit, end]) => {
    if (end.kind === 'value') return [];
    const { error } = end;
    const cause = error instanceof Error ? error.cause : undefined;
    const state = sqlState(cause ?? error);
    const reason = `${unit} fails: ${describe(error)}`;
    if (state === '40P01' || !(error instanceof ServiceError)) return [reason];
    return refusals.includes(error.code) || unit === faulted ? [] : [reason];
  });
}

function describe(error: unknown): string {
  if (!(error instanceof ServiceError)) return error instanceof Error ? (error.stack ?? '') : String(error);
  return `${error.code} ${error.detail ?? ''} ${error.cause === undefined ? '' : String(error.cause)}`;
}

/** Whether a unit has ended well. */
export const succeeded = ({ ends }: Schedule, unit: string): boolean => ends.get(unit)?.kind === 'value';

/** What a unit returned; undefined when it was refused. */
export function valueIn<T>({ ends }: Pick<Schedule, 'ends'>, unit: string): T | undefined {
  const end: End | undefined = ends.get(unit);
  return end?.kind === 'value' ? (end.value as T) : undefined;
}

/** Reads one row of counts. @returns a line for each that is not as expected */
export async function compareCounts(
  stage: Stage,
  expected: Readonly<Record<string, number>>,
  sql: string,
  values: readonly unknown[],
): Promise<string[]> {
  const { rows } = await stage.read.query<Record<string, number>>(sql, values);
  return Object.entries(expected).flatMap(([name, count]) =>
    rows[0]?.[name] === count ? [] : [`${name}: ${rows[0]?.[name]} instead of ${count}`],
  );
}
