// The HTTP shell: every request passes these middlewares in this order. It contains no work of a route.

import Koa from 'koa';
import compose from 'koa-compose';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/service-error.ts';
import { createRoom, type Room } from '../room.ts';
import { runInRounds } from '../steps.ts';
import { NO_TRACING, type Tracing } from '../tracing/tracing.ts';
import { logRequests } from './access-log.ts';
import { type BodyRoom, createBodyRoom } from './body-room.ts';
import { createAddressReader } from './client-address.ts';
import { createContract } from './contract.ts';
import { allowAnyOrigin } from './cors.ts';
import { guardRequest } from './guard.ts';
import { type Perform, respond, runHandler, runKeyedHandler } from './handler.ts';
import type { Health } from './health.ts';
import { createHolds } from './hold.ts';
import { keepAnswers } from './idempotency.ts';
import { createLlmsText, type Guide } from './llms-text.ts';
import { type DescribeEvents, describeInSteps } from './openapi.ts';
import { answerPages, type FindPage } from './pages.ts';
import { answerProblems } from './problem-handler.ts';
import { createTenantLimit, limitAddress, limitRefused, type RateLimits } from './rate-limit.ts';
import { identifyRequest } from './request-id.ts';
import { contextOf, type Middleware, type RequestState } from './request-state.ts';
import { readTarget } from './request-target.ts';
import { awaitStart, type RequestTurns } from './request-turns.ts';
import type { Route } from './route.ts';
import { createRouter } from './router.ts';
import { answerDocuments, answerProbes } from './system-routes.ts';
import { type FindTenant, locateTenant, refuseSuspended, resolveTenant } from './tenant.ts';
import { createTenantLocator } from './tenant-locator.ts';
import { traceRequests } from './trace-requests.ts';

export type AppConfig = Pick<
  Config,
  'nodeEnv' | 'publicUrl' | 'defaultTenant' | 'tenantUrl' | 'errorTypeBase' | 'trustedProxies'
>;

export type AppDependencies = {
  readonly routes: readonly Route[];
  readonly tenants: { readonly bySlug: FindTenant };
  /** Makes the middleware that checks the access token of a route and stores the principal in the context. */
  readonly authorize: (route: Route) => Middleware;
  readonly database: Pick<Database, 'transaction'>;
  readonly health: Health;
  readonly config: AppConfig;
  readonly logger: Logger;
  readonly measure?: Middleware | undefined;
  readonly rateLimits: RateLimits;
  /** Without it, a tenant's concurrent requests are not bounded. */
  readonly turns?: RequestTurns | undefined;
  /** Replaced in tests. */
  readonly answerRoom?: Room | undefined;
  readonly bodyRoom?: BodyRoom | undefined;
  readonly tracing?: Tracing | undefined;
  /** Pages for browsers, by tenant. */
  readonly pages?: readonly FindPage[] | undefined;
  /** The guides among these pages, for /llms.txt. */
  readonly guides?: readonly Guide[] | undefined;
  /** For the OpenAPI document, when it is asked for. */
  readonly describeEvents?: DescribeEvents | undefined;
};

const MIB = 1024 * 1024;

/** Bytes of answers that clients have not taken yet: a process keeps each of them in memory until then. */
const ANSWERS = { client: 8 * MIB, tenant: 16 * MIB, process: 64 * MIB };

/** @returns a Koa application; createHttpServer (server.ts) serves it */
export function createApp(dependencies: AppDependencies): Koa<RequestState> {
  const {
    routes,
    tenants,
    authorize,
    health,
    rateLimits,
    config,
    logger,
    turns,
    tracing = NO_TRACING,
    answerRoom = createRoom(ANSWERS),
    bodyRoom = createBodyRoom(),
  } = dependencies;
  const perform = createPerform(dependencies);
  const limitTenant = createTenantLimit(rateLimits);
  const limit = limitAddress(rateLimits);
  const order: Middleware[] = [
    identifyRequest(createAddressReader(config.trustedProxies)),
    logRequests(logger),
    ...(dependencies.measure === undefined ? [] : [dependencies.measure]),
    ...(tracing.on ? [traceRequests(tracing, routes)] : []),
    answerProblems({ errorTypeBase: config.errorTypeBase, logger }),
    readTarget(),
    answerProbes({ health, errorTypeBase: config.errorTypeBase }),
    answerDocuments({
      openapi: () => runInRounds(describeInSteps(dependencies)),
      llmsText: createLlmsText(config, dependencies.guides),
      before: compose([limit, awaitStart(turns)]),
    }),
    locateTenant(createTenantLocator(config)),
    limit,
    resolveTenant(tenants.bySlug, turns),
    limitRefused(rateLimits),
    answerPages(dependencies.pages ?? []),
    ...createRouter(routes, (route) => [
      allowAnyOrigin(route),
      refuseSuspended(route),
      authorize(route), // 401, 403
      limitTenant(route), // 429
      findTarget(route), // 404
      guardRequest(route, turns, bodyRoom), // 415, 413; no room: 503; 400
      respond(route, perform(route), answerRoom), // idempotency: 422, 409; the handler; no room: 503
    ]),
  ];
  const app = new Koa<RequestState>({ env: config.nodeEnv });
  for (const middleware of order) app.use(middleware);
  // Koa reports here only errors after the beginning of an answer, such as a connection that the client closed.
  app.on('error', (error: unknown) =>
    logger.debug({ event: 'http.answer_cut_short', err: error }, 'an answer was cut short'),
  );
  return app;
}

function createPerform({ database, config, turns }: AppDependencies): (route: Route) => Perform {
  const checked = config.nodeEnv !== 'production';
  return (route) => {
    const contract = checked ? createContract(route, { errors: config.nodeEnv === 'test' }) : undefined;
    const perform = runHandler(route, contract, createHolds(route, turns));
    const keyed = runKeyedHandler(route, contract);
    const whole = route.idempotent ? keepAnswers(route, perform, { database, keyed }) : perform;
    return turns?.bound(route, whole) ?? whole;
  };
}

/**
 * Validates the path parameters, checks that the resource exists, and stores the parameters in `ctx.state.params`. So
 * 404 comes before the rest of the request is checked.
 */
function findTarget({ request, exists }: Route): Middleware {
  const schema = request?.params;
  return async (ctx, next) => {
    if (schema === undefined) return next();
    const result = schema.safeParse(ctx.params);
    if (!result.success) throw unknownTarget();
    // The cast is safe: the type of the route's `params` is derived from this schema.
    const params = result.data as never;
    if (exists !== undefined && !(await exists(contextOf(ctx), params))) throw unknownTarget();
    ctx.state.params = params;
    return next();
  };
}

/** The same answer for a malformed id, an unknown id, and an id of another tenant. */
function unknownTarget(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is nothing with this id.' });
}
