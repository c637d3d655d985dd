// Routes as data: router, guard, token check and openapi.json are derived from them.
import type { ZodObject, ZodType, z } from 'zod';
import type { AnswerKey } from '../answer-key.ts';
import type { RequestContext } from '../context.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import type { Hold } from '../hold.ts';
import type { ManagementScope } from '../scopes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type Example = { readonly summary: string; readonly value: unknown };

type RouteResponse = {
  readonly description: string;
  readonly schema?: ZodType;
  readonly contentType?: string;
  /** Names of headers beyond those of every answer. */
  readonly headers?: readonly string[];
  readonly examples?: Readonly<Record<string, Example>>;
  /** Of an answer that may also be a stream of events: an example of its text. */
  readonly stream?: string;
};

type Schemas = {
  readonly params?: ZodObject;
  readonly query?: ZodObject;
  readonly body?: ZodType;
  /** By default `json`; `form` is `application/x-www-form-urlencoded`. */
  readonly bodyType?: 'json' | 'form';
  /** The most bytes of the body; by default those in guard.ts. */
  readonly longest?: number;
  /** The schema for openapi.json, if the guard accepts more, so that the handler can answer with a better error. */
  readonly described?: ZodType;
  readonly examples?: Readonly<Record<string, Example>>;
  /**
   * Fields that PUT and PATCH ignore in the body. Default: fields of the 200 answer that the body's schema does not
   * know.
   */
  readonly readOnly?: readonly string[];
};

type Parsed<S> = {
  params: S extends { params: infer Params extends ZodObject } ? z.output<Params> : Record<string, never>;
  query: S extends { query: infer Query extends ZodObject } ? z.output<Query> : Record<string, never>;
  body: S extends { body: infer Body extends ZodType } ? z.output<Body> : undefined;
};

type HandlerInput<S> = Parsed<S> & {
  context: RequestContext;
  /** The body as it was sent; empty for a route without one. */
  bodyText: () => string;
  header: (name: string) => string | undefined;
  headerValues: (name: string) => string[];
  /** Of a route with `holds`. */
  hold: Hold;
};

export type HandlerResult = {
  status: number;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Of a page: the id after which the next one begins. The shell adds `next_cursor` to the body. */
  nextCursor?: string | null;
  /** Instead of a body: the texts of an answer that goes on, with status 200 (event-stream.ts). */
  stream?: AsyncIterable<string>;
};

type RouteDefinition<S> = {
  readonly method: Method;
  /** Relative to the tenant's address, with `:name` parameters. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** Facts beyond the summary and the schemas, in Markdown. */
  readonly description?: string;
  readonly tag: string;
  /** The description of the tag; one route of each tag has it. */
  readonly about?: string;
  /** Scope that the bearer token must have. Null: the route takes no token, or a token of any scope (see `subject`). */
  readonly scope: ManagementScope | 'openid' | null;
  /** Accepts only tokens of an agent, with any scope. */
  readonly subject?: 'agent';
  /** Accepts tokens of this issuer for any audience. Default: the token must be for the tenant. */
  readonly anyAudience?: true;
  /** Accepts also delegated tokens. Default: only tokens of an agent or an application that acts for itself. */
  readonly delegated?: true;
  readonly idempotent?: true;
  /** Top-level fields of the answer that are shown once. They are not stored for a repeated `idempotency-key`. */
  readonly secretFields?: readonly string[];
  /** The caller must or may authenticate as a client (HTTP Basic or private_key_jwt); the service checks it. */
  readonly clientAuthentication?: 'required' | 'optional';
  /**
   * Accepts a DPoP proof and binds the issued tokens to its key. Routes with a scope accept a proof with a bound token.
   */
  readonly bindsTokens?: true;
  /** An answer without an error shows that the caller's secret, token or signature is right (rate-limit.ts). */
  readonly proves?: true;
  /** Concurrent requests share statements, so they are not bound by the turns of their tenant (request-turns.ts). */
  readonly sharesStatements?: true;
  /** The handler may wait for another server, by `outsideTurn` of its context. */
  readonly asksOthers?: true;
  /** The handler may wait for long: it has no turn of its tenant, and takes one for each piece of work by `hold`. */
  readonly holds?: true;
  /** Answers also for a suspended tenant; by default such a request gets 403 `policy_denied`. */
  readonly whileSuspended?: true;
  /** A public document that other services need, without limits of the tenant. Default: GETs below `/.well-known/`. */
  readonly isDocument?: true;
  /** Pages of any origin may call it and read the answers. Default: only public documents. */
  readonly cors?: true;
  readonly request?: S & Schemas & { readonly [Misspelt in Exclude<keyof S, keyof Schemas>]: never };
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Codes beyond those of every route (see errorsOf in contract.ts); by default none. */
  readonly errors?: readonly ErrorCode[];
  /**
   * Checks in one indexed read that the resource of the path exists. The shell calls it before it reads body or
   * `idempotency-key`, so that an unknown id is 404 even if the request has other faults. The handler checks again.
   */
  readonly exists?: (context: RequestContext, params: Parsed<S>['params']) => Promise<boolean>;
  readonly handler: (input: HandlerInput<S>) => Promise<HandlerResult> | HandlerResult;
  /**
   * Does the work of a request with an `idempotency-key` and stores its answer in the same statement.
   * @returns undefined when the key is taken or the request needs a transaction; then nothing was written, and the
   *   shell goes on with the stored answer or with `handler`
   */
  readonly keyedHandler?: (
    input: HandlerInput<S> & { readonly answer: AnswerKey },
  ) => Promise<HandlerResult | undefined>;
};

/** A route without the types of its schemas, for the route table. The guard validates before it calls `handler`. */
export type Route = Omit<RouteDefinition<Schemas>, 'errors' | 'handler' | 'keyedHandler' | 'exists'> & {
  readonly errors: readonly ErrorCode[];
  readonly exists?: (context: RequestContext, params: never) => Promise<boolean>;
  readonly handler: (input: never) => Promise<HandlerResult> | HandlerResult;
  readonly keyedHandler?: (input: never) => Promise<HandlerResult | undefined>;
};

/** True when the route requires an access token. */
export function takesToken({ scope, subject }: Pick<Route, 'scope' | 'subject'>): boolean {
  return scope !== null || subject !== undefined;
}

/** Types the handler of a route by its schemas. */
export function defineRoute<const S extends Schemas>(definition: RouteDefinition<S>): Route {
  return { errors: [], ...definition } as Route;
}

/** Defaults of the routes of a table. */
type Defaults = Pick<Route, 'tag' | 'about'> &
  /** One scope for all routes, or one for GET and one for all other methods. */
  ({ readonly scope: Route['scope'] } | { readonly read: Route['scope']; readonly write: Route['scope'] });

type Entry<S> = Omit<RouteDefinition<S>, 'tag' | 'scope'> & Partial<Pick<Route, 'tag' | 'scope'>>;

/** Builds a table of routes with defaults, and types each handler by the schemas of its route. */
export function defineRoutes<const S extends readonly unknown[]>(
  { tag, about, ...scopes }: Defaults,
  entries: { readonly [Index in keyof S]: Entry<S[Index]> },
): Route[] {
  const { read, write } = 'scope' in scopes ? { read: scopes.scope, write: scopes.scope } : scopes;
  return (entries as readonly (Omit<Route, 'tag' | 'scope' | 'errors'> & Partial<Pick<Route, 'tag'>>)[]).map(
    (entry) => ({
      tag,
      ...(about === undefined || entry.tag !== undefined ? {} : { about }),
      scope: entry.method === 'GET' ? read : write,
      errors: [],
      ...entry,
    }),
  );
}
