// Counts and times requests by route, and counts those that a limit refused. A label is a path of the route table,
// never the path that a client sent.
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Objective, Objectives } from '../metrics/objectives.ts';
import type { Middleware } from './request-state.ts';
import type { Route } from './route.ts';

/** Seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const NO_ROUTE = 'none';

type MeasureRequestsOptions = {
  registry: Registry;
  routes: readonly Route[];
  objectives: Pick<Objectives, 'note'>;
  promised: ReadonlyMap<string, Objective>;
};

/**
 * @param options.routes the whole table
 * @param options.promised the objective to which a POST to a path counts; 4xx is not counted. The path says it, because
 *   a request may fail before its route is found.
 * @returns a middleware around everything that answers
 */
export function measureRequests(options: MeasureRequestsOptions): Middleware {
  const { registry, routes, objectives, promised } = options;
  const histogram = new Histogram({
    name: 'countersign_http_request_duration_seconds',
    help: 'Time from a request to the last of its answer being handed over, by route, method and class of status; without the time for which the request was held.',
    labelNames: ['route', 'method', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const paths = new Map(routes.map(({ operationId, path }) => [operationId, path]));
  const children = new Map<string, { observe(seconds: number): void }>();

  const childOf = (operation: string | undefined, sent: string, code: number) => {
    const method = METHODS.has(sent) ? sent : 'other';
    const status = `${Math.floor(code / 100)}xx`;
    const key = `${operation} ${method} ${status}`;
    const known = children.get(key);
    if (known !== undefined) return known;
    // The operation of a system route is its path.
    const route = operation === undefined ? NO_ROUTE : (paths.get(operation) ?? operation);
    const child = histogram.labels({ route, method, status });
    children.set(key, child);
    return child;
  };

  return async (ctx, next) => {
    const began = performance.now();
    await next();
    const took = performance.now() - began - (ctx.state.heldMs ?? 0);
    childOf(ctx.state.operation, ctx.method, ctx.status).observe(took / 1_000);
    const objective = ctx.method === 'POST' ? promised.get(ctx.state.path) : undefined;
    if (objective === undefined) return;
    if (ctx.status >= 500) objectives.note(objective, Number.POSITIVE_INFINITY);
    else if (ctx.status < 300) objectives.note(objective, took / 1_000);
  };
}

/** @returns a function to be called with the name of the limit for each refused request */
export function countRefusals({ registry }: { registry: Registry }): (limit: string) => void {
  const counter = new Counter({
    name: 'countersign_rate_limited_total',
    help: 'Requests that a limit refused, by limit.',
    labelNames: ['limit'],
    registers: [registry],
  });
  return (limit) => counter.inc({ limit });
}
