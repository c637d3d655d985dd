// Lets the statements of concurrent units pass one after the other, in an order that a seed decides. A statement that
// waits for a lock of another unit is left waiting; a connection may be lost before or after any statement.
// docs/decisions/0024-replayed-schedules.md
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { newPool } from '../../src/platform/database/client.ts';
import { createDatabase, type Database } from '../../src/platform/database/database.ts';
import { gatePool, type Sending } from './gated-pool.ts';
import type { SeededRandom } from './seeded-random.ts';
import { type Note, nameStatement, type Step } from './trace.ts';

/** What runs in one process beside others: a request, a step of a workflow, a relay's round. */
export type Unit = { readonly name: string; readonly process: number; readonly act: () => Promise<unknown> };

export type End =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown };

/**
 * `certain`: so many steps are the same in each run of the seed. All are, unless a commit met two statements that
 * waited: Postgres orders those. `faulted`: the unit that lost a connection. `stuck`: what never went on.
 */
export type Schedule = {
  readonly trace: readonly Step[];
  readonly certain: number;
  readonly ends: ReadonlyMap<string, End>;
  readonly faulted: string | undefined;
  readonly stuck: string | undefined;
};

type Fault = 'killed' | 'lost';

type Running = { readonly name: string; readonly index: number; readonly process: number; end?: End };

/** A connection that a unit uses. */
type Strand = {
  readonly unit: Running;
  readonly client: PoolClient;
  readonly number: number;
  text: string;
  /** Its wait is in the trace. */
  isNoted: boolean;
  state: 'idle' | 'asking' | 'sent' | 'waiting';
  answer: (fault: Fault | undefined) => void;
};

/** No wait ends by a time limit of Postgres or of the driver: the scheduler itself finds waits without an end. */
const LIMITS = {
  statement: 120_000,
  lock: 120_000,
  idleInTransaction: 120_000,
  answer: 120_000,
  turn: 120_000,
};

/** Milliseconds in which a unit asks for its next statement or ends, on the slowest machine. */
const PATIENCE = 60_000;
/** Milliseconds after which a statement without an answer may be waiting for a lock. */
const QUICK = 2;
/** The most statements of one unit at the same time. */
const CONNECTIONS = 5;
/** Turns of the event loop in which all strands of a unit have asked. */
const TURNS = 4;
/** A connection is lost at one of so many first statements, in this share of all schedules. */
const FAULT_STEPS = 40;
const FAULTY = 0.4;

/**
 * @param options.alter the text that is sent instead of a statement, for defects that are planted
 * @returns the databases of so many processes, and `run`, which runs units on them
 */
export async function createScheduler({
  url,
  processes,
  alter,
}: {
  url: string;
  processes: number;
  alter?: ((text: string) => string) | undefined;
}) {
  const monitor = newPool({ connectionString: url, max: 2 });
  // A cycle of waits is found by `run`: whom Postgres would choose to end depends on the machine.
  await monitor.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET deadlock_timeout = '10min'`);
  let active: ReturnType<typeof createRun> | undefined;
  const databases = Array.from({ length: processes }, (_, n): Database => {
    const database = createDatabase({ url, pool: 10, applicationName: `process-${n}`, limits: LIMITS });
    gatePool(database.pool, (sending) => active?.pass(n, sending) ?? sending.send(), alter);
    database.pool.on('release', () => active?.changed());
    return database;
  });
  return {
    databases,
    run: async (units: readonly Unit[], random: SeededRandom): Promise<Schedule> => {
      // What is still written behind the answers of an earlier request belongs to no unit.
      await Promise.all(databases.map(rest));
      await Promise.all(databases.map(openConnections));
      active = createRun(monitor, databases, units, random);
      try {
        return await active.run();
      } finally {
        active = undefined;
      }
    },
    close: async () => {
      await Promise.all(databases.map((database) => database.close()));
      await monitor.end();
    },
  };
}

export type Scheduler = Awaited<ReturnType<typeof createScheduler>>;

function createRun(
  monitor: Pool,
  databases: readonly Database[],
  units: readonly Unit[],
  random: SeededRandom,
) {
  const running = units.map(({ name, process }, index): Running => ({ name, index, process }));
  const strands: Strand[] = [];
  const trace: Step[] = [];
  // A schedule stays with a unit for longer or shorter, so that both close races and long overtakings come.
  const loyalty = random.pick([0, 0, 0.5, 0.8]);
  const fault = random.chance(FAULTY)
    ? { at: random.below(FAULT_STEPS), kind: random.pick<Fault>(['killed', 'lost']) }
    : undefined;
  let faulted: string | undefined;
  let last: Running | undefined;
  let changes = 0;
  let wake = (): void => undefined;
  let isOver = false;

  const changed = (): void => {
    changes += 1;
    wake();
  };
  /** Waits for the next change, at most for `ms`. */
  const nextChange = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const inState = (...states: Strand['state'][]) => strands.filter(({ state }) => states.includes(state));
  const note = ({ unit, text }: Strand, what?: Note): void => {
    trace.push({ unit: unit.name, statement: nameStatement(text), note: what });
  };

  /** Lets a statement pass in its turn. @returns undefined for a process without a unit */
  const pass = (process: number, { client, text, send }: Sending): Promise<unknown> | undefined => {
    const index = units.findIndex((unit) => unit.process === process);
    const unit = running[index];
    if (unit === undefined || isOver) return undefined;
    let strand = strands.find((one) => one.client === client);
    if (strand === undefined) {
      const number = strands.filter((one) => one.unit === unit).length;
      strand = { unit, client, number, text, isNoted: false, state: 'idle', answer: () => undefined };
      strands.push(strand);
    }
    return take(strand, text, send);
  };

  const take = async (strand: Strand, text: string, send: () => Promise<unknown>): Promise<unknown> => {
    strand.text = text;
    strand.isNoted = false;
    strand.state = 'asking';
    const fate = await new Promise<Fault | undefined>((resolve) => {
      strand.answer = resolve;
      changed();
    });
    strand.state = 'sent';
    try {
      if (fate === 'killed') await end(strand.client);
      const result = await send();
      if (fate !== 'lost') return result;
      await end(strand.client);
      throw new Error('Connection terminated unexpectedly');
    } finally {
      strand.state = 'idle';
      changed();
    }
  };

  /** Ends a connection on both sides. */
  const end = async (client: PoolClient): Promise<void> => {
    const ended = new Promise((resolve) => client.once('end', resolve));
    await monitor.query('SELECT pg_terminate_backend($1, 10000)', [pidOf(client)]);
    await ended;
  };

  /** Waits until each unit asks for a statement, waits for a lock, or has ended. @returns the unit that does not */
  const settle = async (): Promise<Running | undefined> => {
    for (let since = performance.now(), seen = -1; ; ) {
      if (seen !== changes) since = performance.now();
      seen = changes;
      for (let n = 0; n < TURNS; n += 1) await turn();
      if (seen !== changes) continue;
      const busy = running.find(isBusy);
      if (performance.now() - since > PATIENCE) return busy ?? inState('sent', 'waiting')[0]?.unit;
      if (busy !== undefined || inState('sent').length > 0) await nextChange(busy ? PATIENCE : QUICK);
      if (seen !== changes || busy !== undefined) continue;
      const flying = inState('sent', 'waiting');
      if (flying.length === 0) return undefined;
      const blocked = await readBlocked(flying);
      if (seen !== changes) continue;
      for (const strand of flying) strand.state = blocked.has(strand) ? 'waiting' : 'sent';
      if (blocked.size < flying.length) continue;
      for (const strand of flying) {
        if (!strand.isNoted) note(strand, 'waits');
        strand.isNoted = true;
      }
      return undefined;
    }
  };

  /** A unit that has ended may still write behind its answer; a connection in use will ask, too. */
  const isBusy = (unit: Running): boolean => {
    const speaking = strands.filter((strand) => strand.unit === unit && strand.state !== 'idle').length;
    return (unit.end === undefined && speaking === 0) || inUse(databases[unit.process]) > speaking;
  };

  const readBlocked = async (flying: readonly Strand[]): Promise<Set<Strand>> => {
    const { rows } = await monitor.query<{ pid: number }>(
      'SELECT pid FROM unnest($1::int[]) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0',
      [flying.map(({ client }) => pidOf(client))],
    );
    const pids = new Set(rows.map(({ pid }) => pid));
    return new Set(flying.filter(({ client }) => pids.has(pidOf(client))));
  };

  /** Lets the next statement pass. @returns false when none asks */
  const step = (): boolean => {
    const asking = inState('asking').sort(
      (a, b) => a.unit.index - b.unit.index || a.text.localeCompare(b.text) || a.number - b.number,
    );
    if (asking.length === 0) return false;
    const same = asking.filter(({ unit }) => unit === last);
    const chosen = random.pick(random.chance(loyalty) && same.length > 0 ? same : asking);
    const fate =
      trace.length >= (fault?.at ?? Number.POSITIVE_INFINITY) && !faulted ? fault?.kind : undefined;
    if (fate !== undefined) faulted = chosen.unit.name;
    last = chosen.unit;
    note(chosen, fate);
    chosen.state = 'sent';
    chosen.answer(fate);
    return true;
  };

  /** Ends what is stuck, so that the next schedule finds nothing of it. */
  const abandon = async (): Promise<void> => {
    isOver = true;
    const pids = inState('sent', 'waiting').map(({ client }) => pidOf(client));
    await monitor.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [pids]);
    for (const { answer } of inState('asking')) answer('killed');
  };

  return {
    pass,
    changed,
    run: async (): Promise<Schedule> => {
      const acts = units.map(async ({ act }, index) => {
        const unit = running[index];
        const ended = await act().then(
          (value): End => ({ kind: 'value', value }),
          (error: unknown): End => ({ kind: 'error', error }),
        );
        if (unit !== undefined) unit.end = ended;
        changed();
      });
      let stuck: string | undefined;
      let certain = Number.POSITIVE_INFINITY;
      let waited: { readonly strand: Strand; readonly text: string }[] = [];
      for (;;) {
        const passed = trace.length;
        const silent = await settle();
        const isFree = waited.some(({ strand, text }) => strand.state !== 'waiting' || strand.text !== text);
        if (waited.length > 1 && isFree) certain = Math.min(certain, passed);
        waited = inState('waiting').map((strand) => ({ strand, text: strand.text }));
        if (silent !== undefined) stuck = `${silent.name} neither goes on nor ends`;
        if (stuck !== undefined || !step()) break;
      }
      const waiting = inState('waiting').map(({ unit }) => unit.name);
      if (waiting.length > 0) stuck ??= `deadlock of ${waiting.join(' and ')}`;
      if (stuck !== undefined) await abandon();
      else await Promise.all(acts);
      isOver = true;
      const ends = new Map(
        running.flatMap(({ name, end }) => (end === undefined ? [] : [[name, end] as const])),
      );
      return { trace, certain, ends, faulted, stuck };
    },
  };
}

async function rest(database: Database): Promise<void> {
  for (const since = performance.now(); inUse(database) > 0; await sleep(1))
    if (performance.now() - since > PATIENCE) throw new Error('An earlier unit holds a connection.');
}

/** Opens what a unit may need: a connection that is opened late would let its statement ask late. */
async function openConnections({ pool }: Database): Promise<void> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.connect()));
  for (const client of clients) client.release();
}

/** The connections that are not idle, with those that are being opened. */
function inUse(database: Database | undefined): number {
  if (database === undefined) return 0;
  const { totalCount, idleCount, waitingCount } = database.pool;
  return totalCount - idleCount + waitingCount;
}

function pidOf(client: PoolClient): number {
  return (client as PoolClient & { processID: number }).processID;
}
