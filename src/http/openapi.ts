// Builds openapi.json from the route table. It describes and never decides: the same values validate the requests.
import type { Config } from '../config.ts';
import { publishErrors } from '../errors/meanings.ts';
import {
  describeExamples,
  describeHeaders,
  PARAMETERS,
  problemSchema,
  SECURITY_SCHEMES,
} from './openapi-components.ts';
import { describeOperation, describePath, describeProblem } from './openapi-operation.ts';
import { createSchemaCollector, type JsonSchema } from './openapi-schemas.ts';
import type { Route } from './route.ts';

type OpenApiConfig = Pick<Config, 'publicUrl' | 'tenantUrl' | 'defaultTenant' | 'errorTypeBase'>;

/** @returns the OpenAPI 3.1 document of all routes, as plain JSON values */
export function createOpenApi({
  routes,
  config,
}: {
  routes: readonly Route[];
  config: OpenApiConfig;
}): JsonSchema {
  const schemas = createSchemaCollector();
  // Answers first: what they look like gets the plain names.
  const answers = routes.flatMap((route) => Object.values(route.responses));
  for (const schema of [problemSchema, ...answers.map((answer) => answer.schema)])
    if (schema !== undefined) schemas.describe(schema, 'output');
  const paths: Record<string, JsonSchema> = describeSystemPaths(config.publicUrl);
  for (const route of routes) {
    const path = describePath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(route, schemas) };
  }
  return {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Countersign',
      version: '1.0.0',
      description:
        'Agent identity, agent authentication and signed webhook events. `x-error-codes` lists every code that `error` of an error body can hold, with those that are reserved: named for clients, and caused by nothing yet.',
    },
    servers: describeServers(config),
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    'x-error-codes': publishErrors(),
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes: SECURITY_SCHEMES,
      parameters: PARAMETERS,
      headers: describeHeaders(answers.flatMap((answer) => answer.headers ?? [])),
      examples: describeExamples(config.errorTypeBase),
    },
  };
}

function describeServers({ publicUrl, tenantUrl, defaultTenant }: OpenApiConfig): JsonSchema[] {
  const others = {
    url: tenantUrl,
    description: 'Any tenant',
    variables: { tenant: { default: 'acme', description: 'Slug of the tenant' } },
  };
  return defaultTenant === undefined
    ? [others]
    : [{ url: publicUrl, description: `The tenant ${defaultTenant}` }, others];
}

/** What belongs to no tenant, always at the service's own address. */
function describeSystemPaths(publicUrl: string): Record<string, JsonSchema> {
  const operation = (
    operationId: string,
    summary: string,
    properties: readonly string[],
    errors: JsonSchema = {},
  ): JsonSchema => ({
    servers: [{ url: publicUrl }],
    get: {
      operationId,
      summary,
      tags: ['Service'],
      security: [],
      responses: {
        200: {
          description: summary,
          headers: { 'x-request-id': { $ref: '#/components/headers/x-request-id' } },
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: Object.fromEntries(properties.map((name) => [name, { type: 'string' }])),
              },
            },
          },
        },
        ...errors,
      },
    },
  });
  return {
    '/healthz': operation('getHealth', 'This process lives', ['status']),
    '/readyz': operation(
      'getReadiness',
      'This process can serve requests',
      ['status', 'database', 'temporal'],
      { 503: describeProblem(503, ['temporarily_unavailable']) },
    ),
    '/openapi.json': operation('getOpenApi', 'This document', ['openapi']),
  };
}
