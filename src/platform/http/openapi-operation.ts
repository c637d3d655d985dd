// Describes a route as an OpenAPI operation. Everything is derived from the route, so it agrees with the guard.
import type { ZodObject } from 'zod';
import { type ErrorCode, statusOf } from '../errors/catalogue.ts';
import { sufficientScopes } from '../scopes.ts';
import { errorsOf } from './contract.ts';
import { EVENT_STREAM } from './event-stream.ts';
import { EVERY_ANSWER, headersOf, type ProblemCollector } from './openapi-problems.ts';
import type { createSchemaCollector, JsonSchema } from './openapi-schemas.ts';
import { type Route, takesToken } from './route.ts';

type Schemas = ReturnType<typeof createSchemaCollector>;

type Shared = {
  readonly schemas: Schemas;
  readonly problems: ProblemCollector;
};

/** The operation object (OpenAPI 3.1 §4.8.10) of a route. */
export function describeOperation(route: Route, { schemas, problems }: Shared): JsonSchema {
  const body = describeBody(route, schemas);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: describeInWords(route),
    tags: [route.tag],
    security: describeSecurity(route),
    parameters: describeParameters(route, schemas),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...describeAnswers(route, schemas), ...describeErrors(route, problems) },
  };
}

/** Turns `/agents/:agent_id` into `/agents/{agent_id}`. */
export function describePath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

/**
 * The route's description and its permitted callers, because few viewers of OpenAPI show the scopes of bearer tokens.
 */
function describeInWords(route: Route): string {
  const { description, idempotent } = route;
  const repeatable = idempotent ? ' Can be repeated safely with an `idempotency-key`.' : '';
  return [...(description === undefined ? [] : [description]), callerOf(route) + repeatable].join('\n\n');
}

function callerOf(route: Route): string {
  const { scope, subject, anyAudience, clientAuthentication } = route;
  if (takesToken(route)) {
    const whose = subject === undefined ? '' : ' of an agent';
    const held =
      scope === null
        ? ''
        : ` with the scope ${sufficientScopes(scope)
            .map((one) => `\`${one}\``)
            .join(' or ')}`;
    return `Needs a token${whose}${held}${anyAudience ? ', for any audience' : ''}.`;
  }
  if (clientAuthentication === undefined) return 'Takes no token.';
  const how = clientAuthentication === 'required' ? 'authenticates' : 'may authenticate';
  return `The client ${how} with HTTP Basic, with \`client_id\` and \`client_secret\` in the form, or with \`client_assertion\` (\`private_key_jwt\`).`;
}

/** The alternatives of authentication; the one without authentication comes last (OpenAPI 3.1 §4.8.30). */
function describeSecurity(route: Route): JsonSchema[] {
  const { scope, clientAuthentication, bindsTokens } = route;
  if (takesToken(route)) {
    const alternatives = scope === null ? [[]] : sufficientScopes(scope).map((one) => [one]);
    return alternatives.flatMap((scopes) => [{ bearer: scopes }, { dpop: scopes }]);
  }
  const clients: JsonSchema[] = clientAuthentication ? [{ basic: [] }, { private_key_jwt: [] }] : [];
  const nobody: JsonSchema[] = clientAuthentication === 'required' ? [] : [{}];
  const bound = bindsTokens ? [...clients, ...nobody].map((caller) => ({ ...caller, dpop_proof: [] })) : [];
  const all = [...clients, ...bound, ...nobody];
  return all.length > 1 ? all : [];
}

function describeParameters({ request, idempotent }: Route, schemas: Schemas): JsonSchema[] {
  return [
    ...parametersOf(request?.params, 'path', schemas),
    ...parametersOf(request?.query, 'query', schemas),
    ...(idempotent ? [{ $ref: '#/components/parameters/idempotency-key' }] : []),
    { $ref: '#/components/parameters/x-request-id' },
  ];
}

function parametersOf(
  object: ZodObject | undefined,
  place: 'path' | 'query',
  schemas: Schemas,
): JsonSchema[] {
  if (object === undefined) return [];
  const { properties = {}, required = [] } = schemas.describe(object, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

function describeBody({ request }: Route, schemas: Schemas): JsonSchema | undefined {
  const body = request?.described ?? request?.body;
  if (body === undefined) return undefined;
  const type = request?.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  const examples = request?.examples === undefined ? {} : { examples: request.examples };
  return {
    required: !body.safeParse({}).success,
    content: { [type]: { schema: schemas.describe(body, 'input'), ...examples } },
  };
}

function describeAnswers(route: Route, schemas: Schemas): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, { description, headers = [], ...answer }]) => {
      const replayed = route.idempotent && status.startsWith('2') ? ['idempotency-replayed'] : [];
      const nonce = takesToken(route) ? ['dpop-nonce'] : [];
      const content = describeContent(answer, schemas);
      return [
        status,
        {
          description,
          headers: headersOf([
            ...EVERY_ANSWER,
            ...headers.map((name) => name.toLowerCase()),
            ...replayed,
            ...nonce,
          ]),
          ...(content === undefined ? {} : { content }),
        },
      ];
    }),
  );
}

function describeContent(
  { schema, contentType, examples, stream }: Omit<Route['responses'][number], 'description'>,
  schemas: Schemas,
): JsonSchema | undefined {
  if (schema === undefined && contentType === undefined) return undefined;
  return {
    [contentType ?? 'application/json']: {
      ...(schema === undefined ? {} : { schema: schemas.describe(schema, 'output') }),
      ...(examples === undefined ? {} : { examples }),
    },
    ...(stream === undefined ? {} : { [EVENT_STREAM]: { schema: { type: 'string' }, example: stream } }),
  };
}

function describeErrors(route: Route, problems: ProblemCollector): Record<string, JsonSchema> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) {
    const status = statusOf(code, takesToken(route));
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, problems.describe(status, codes, route.operationId)]),
  );
}
