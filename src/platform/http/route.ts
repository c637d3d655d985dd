// A route as data: router, guard, bearer check and openapi.json are all derived from this one value.
import type { ZodObject, ZodType, z } from 'zod';
import type { RequestContext } from '../context.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import type { ManagementScope } from '../scopes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A body to show in the documentation. */
type Example = { readonly summary: string; readonly value: unknown };

type RouteResponse = {
  readonly description: string;
  /** Schema of the answer's body; absent when the answer has no body. */
  readonly schema?: ZodType;
  /** By default `application/json`. */
  readonly contentType?: string;
  /** Names of headers that this answer carries beyond those of every answer. */
  readonly headers?: readonly string[];
  readonly examples?: Readonly<Record<string, Example>>;
};

type Schemas = {
  readonly params?: ZodObject;
  readonly query?: ZodObject;
  readonly body?: ZodType;
  /** By default `json`; `form` is `application/x-www-form-urlencoded`. */
  readonly bodyType?: 'json' | 'form';
  /** The schema for openapi.json where the guard accepts more, so that the handler can answer with a better error. */
  readonly described?: ZodType;
  /** Bodies to show, by name. */
  readonly examples?: Readonly<Record<string, Example>>;
  /**
   * Own fields that PUT and PATCH ignore in the body; by default those of the 200 answer that the body's schema does
   * not know.
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
  /** A request header by its lower-case name. */
  header: (name: string) => string | undefined;
  /** Each value of a request header as it was sent, by its lower-case name. */
  headerValues: (name: string) => string[];
};

export type HandlerResult = {
  status: number;
  /** Sent as JSON; a string or bytes are sent as they are. */
  body?: unknown;
  headers?: Record<string, string>;
};

type RouteDefinition<S> = {
  readonly method: Method;
  /** Relative to the tenant's address, with `:name` parameters. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** Facts that are not in the summary and the schemas, in Markdown. */
  readonly description?: string;
  readonly tag: string;
  /** The description of the tag's operations; one route of the tag has it. */
  readonly about?: string;
  /**
   * Scope that the bearer token must hold; null for a route that takes no token, or one of any scope (see `subject`).
   */
  readonly scope: ManagementScope | 'openid' | null;
  /** Takes the token of an agent only, with or without a scope. */
  readonly subject?: 'agent';
  /** Takes a token for any audience, as long as it is of this issuer; by default it must be for the tenant. */
  readonly anyAudience?: true;
  /**
   * Takes a token in which an agent acts for a user, too; by default only tokens of an agent or an application by
   * itself.
   */
  readonly delegated?: true;
  /** Accepts an `idempotency-key`. */
  readonly idempotent?: true;
  /**
   * Top-level fields of the answer that are shown once: they are not kept for a replay of the same `idempotency-key`.
   */
  readonly secretFields?: readonly string[];
  /** The caller authenticates as a client (HTTP Basic or private_key_jwt), or may do so; the service checks it. */
  readonly clientAuthentication?: 'required' | 'optional';
  /** Takes a DPoP proof, to which the issued tokens are bound; routes with a scope take one with a bound token. */
  readonly bindsTokens?: true;
  /** Answers also for a tenant that is suspended; by default 403 `policy_denied`. */
  readonly whileSuspended?: true;
  /** Pages of any origin may read it; by default only public GETs below `/.well-known/`. */
  readonly cors?: boolean;
  readonly request?: S & Schemas & { readonly [Misspelt in Exclude<keyof S, keyof Schemas>]: never };
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Codes beyond those that every route can answer (see errorsOf in contract.ts); by default none. */
  readonly errors?: readonly ErrorCode[];
  /**
   * Whether the resource of the path exists, in one indexed read. The shell calls it before it reads body or
   * `idempotency-key`, so that an unknown id is 404 also when the request has other faults; the handler still has to
   * check.
   */
  readonly exists?: (context: RequestContext, params: Parsed<S>['params']) => Promise<boolean>;
  readonly handler: (input: HandlerInput<S>) => Promise<HandlerResult> | HandlerResult;
};

/** A route without its schema types, as the table holds it. The guard validates before it calls `handler`. */
export type Route = Omit<RouteDefinition<Schemas>, 'errors' | 'handler' | 'exists'> & {
  readonly errors: readonly ErrorCode[];
  readonly exists?: (context: RequestContext, params: never) => Promise<boolean>;
  readonly handler: (input: never) => Promise<HandlerResult> | HandlerResult;
};

/** Whether the route asks for an access token. */
export function takesToken({ scope, subject }: Pick<Route, 'scope' | 'subject'>): boolean {
  return scope !== null || subject !== undefined;
}

/** Types a route's handler from its schemas. */
export function defineRoute<const S extends Schemas>(definition: RouteDefinition<S>): Route {
  return { errors: [], ...definition } as Route;
}

/** The values that routes of a table share; a route may override each. */
type Defaults = Pick<Route, 'tag' | 'about'> &
  /** One scope for all, or one for the GETs and one for all other methods. */
  ({ readonly scope: Route['scope'] } | { readonly read: Route['scope']; readonly write: Route['scope'] });

type Entry<S> = Omit<RouteDefinition<S>, 'tag' | 'scope'> & Partial<Pick<Route, 'tag' | 'scope'>>;

/** A table of routes with what they have in common; types each handler from the schemas of its route. */
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
