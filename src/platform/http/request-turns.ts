// Shares a process among tenants: spreads the beginnings of one tenant's requests, bounds those that are worked on
// concurrently, those that use the database for long, and the time for which it holds up the event loop. The further
// requests wait in this process. Changes of one row run one after the other.
import { setTimeout } from 'node:timers/promises';
import type { RequestContext } from '../context.ts';
import { createTurns, type OutsideTurn } from '../database/turns.ts';
import { ServiceError } from '../errors/service-error.ts';
import { runSteps } from '../steps.ts';
import { isPublicDocument } from './cors.ts';
import type { Perform } from './handler.ts';
import { createLoopPace, type LoopPace } from './loop-pace.ts';
import type { Context, Middleware } from './request-state.ts';
import { createRoundStarts } from './round-starts.ts';
import type { Route } from './route.ts';

/** Waiting requests, and milliseconds to wait. A request waits for a row as long as a statement would for its lock. */
const ROW = { queue: 100, patience: 2_000 };
const DATABASE = { queue: 1_000, patience: 10_000 };
const PROCESS = { patience: 30_000, isPaced: true };

/**
 * The most requests of one tenant that are worked on: many share their statements, few let requests of another tenant
 * through soon. Milliseconds that a tenant counts as present after its last request.
 */
const AT_WORK = { alone: 256, beside: 8 };
const PRESENCE = 1_000;

/** Longer bodies (bytes) hold up the event loop when they are parsed. */
const LONG_BODY = 16_384;

type RequestTurnsNeeds = {
  connections: number;
  pace?: LoopPace | undefined;
  now?: (() => number) | undefined;
  pause?: ((milliseconds: number) => Promise<void>) | undefined;
};

/**
 * @param options.connections of the pool; the requests of one tenant that change or list things may use half of them
 * @param options.now a monotonic clock in milliseconds
 * @param options.pause waits
 * @param options.pace says how slow the event loop is, and so by what the number at work is divided
 */
export function createRequestTurns({
  connections,
  now = () => performance.now(),
  pause = (milliseconds) => setTimeout(milliseconds),
  pace = createLoopPace(),
}: RequestTurnsNeeds) {
  const rows = createTurns({ ...ROW, share: () => 1 });
  const database = createTurns({ ...DATABASE, share: () => Math.max(1, Math.floor(connections / 2)) });
  // Pages of events are the longest answers: several that come together from the database hold up the event loop.
  const pages = createTurns({ ...DATABASE, share: () => (isShared() ? 1 : connections) });
  const atWork = createTurns({
    ...PROCESS,
    share: () => (isShared() ? Math.max(1, Math.floor(AT_WORK.beside / pace.slowness())) : AT_WORK.alone),
  });
  const startInRound = createRoundStarts();
  let latest: string | undefined;
  /** When a request was of another tenant than the request before. */
  let changedAt = Number.NEGATIVE_INFINITY;

  const isShared = (): boolean => now() - changedAt < PRESENCE;
  const parseLong = createParsing({ isShared, now, pause });

  function note(tenantId: string): void {
    if (latest !== undefined && latest !== tenantId) {
      changedAt = now();
      pace.watch();
    }
    latest = tenantId;
  }

  function take<T>(tenantId: string, work: (outsideTurn: OutsideTurn) => Promise<T>): Promise<T> {
    note(tenantId);
    return atWork.run(tenantId, work);
  }

  /** Runs work of a request when it has its turns, unless its client has gone by then. */
  function inTurn<T>(
    route: Route,
    ctx: Context,
    { tenant: { id } }: RequestContext,
    work: (outsideTurn: OutsideTurn) => Promise<T>,
  ): Promise<T> {
    const atTurn = () =>
      take(id, (outsideTurn) => {
        // A client may send many requests on a connection and leave before their turns come.
        if (ctx.req.socket.destroyed)
          throw new ServiceError('request_timeout', { detail: 'The client has gone.' });
        return work(outsideTurn);
      });
    if (route.scope === null || route.scope === 'openid' || route.sharesStatements) return atTurn();
    const row = rowOf(route, ctx);
    const inDatabase = () => database.run(id, atTurn);
    const inTurns = () => (route.holds ? pages.run(id, inDatabase) : inDatabase());
    return row === undefined ? inTurns() : rows.run(`${id}:${row}`, inTurns);
  }

  return {
    /**
     * Called before the work of each request. Beside other tenants, one request of a tenant begins in each round of the
     * event loop.
     * @param tenantId undefined for a request to no tenant
     * @returns undefined for a request that begins now
     */
    start(tenantId: string | undefined): Promise<void> | undefined {
      if (tenantId !== undefined) note(tenantId);
      return isShared() ? startInRound(tenantId ?? '') : undefined;
    },

    inTurn,

    /** Requests of more than one tenant have come within the last second. */
    isShared,

    /** Parses a body; a long one in steps (`createParsing`). */
    parse: async <T>(tenantId: string, bytes: number, steps: Generator<void, T, void>): Promise<T> => {
      if (bytes <= LONG_BODY) return runSteps(steps);
      note(tenantId);
      return await parseLong(tenantId, steps);
    },

    /**
     * Wraps the work of a route. A route that holds its requests takes the turns itself; public documents need none,
     * because other services cannot verify tokens without them.
     */
    bound: (route: Route, perform: Perform): Perform => {
      if (route.holds || isPublicDocument(route)) return perform;
      return (ctx, context) =>
        inTurn(route, ctx, context, (outsideTurn) =>
          perform(ctx, route.asksOthers ? { ...context, outsideTurn } : context),
        );
    },
  };
}

export type RequestTurns = ReturnType<typeof createRequestTurns>;

/**
 * Parses long bodies in steps. Beside other tenants, those of one tenant are parsed one after the other, with a pause
 * after each step as long as the step took.
 */
function createParsing({
  isShared,
  now,
  pause,
}: {
  isShared: () => boolean;
  now: () => number;
  pause: (milliseconds: number) => Promise<void>;
}) {
  const parsing = createTurns({ ...PROCESS, share: () => (isShared() ? 1 : AT_WORK.alone) });

  /** Takes as long again as the work has taken, also when it fails. */
  async function paced<T>(work: () => T): Promise<T> {
    const begun = now();
    try {
      return work();
    } finally {
      if (isShared()) await pause(now() - begun);
    }
  }

  return <T>(tenantId: string, steps: Generator<void, T, void>): Promise<T> =>
    parsing.run(tenantId, async () => {
      for (;;) {
        const { done, value } = await paced(() => steps.next());
        if (done) return value;
      }
    });
}

/** Lets a request to no tenant wait until it may begin. */
export function awaitStart(turns: Pick<RequestTurns, 'start'> | undefined): Middleware {
  return (_ctx, next) => turns?.start(undefined)?.then(next) ?? next();
}

/** The resource in the path, such as `agents/<id>`, if the request changes it or what belongs to it. */
function rowOf({ method, path }: Route, { state }: Context): string | undefined {
  if (method === 'GET' || !path.includes('/:')) return undefined;
  const place = path.split('/').findIndex((segment) => segment.startsWith(':'));
  return state.path
    .split('/', place + 1)
    .slice(place - 1)
    .join('/')
    .toLowerCase();
}
