// Describes the routes without a tenant: liveness, readiness, openapi.json and llms.txt. system-routes.ts answers them.
import { z } from 'zod';
import type { ErrorCode } from '../errors/catalogue.ts';
import { NOT_MODIFIED } from './answers.ts';
import { problemSchema } from './openapi-components.ts';
import { EVERY_ANSWER, headersOf, type ProblemCollector } from './openapi-problems.ts';
import type { createSchemaCollector, JsonSchema } from './openapi-schemas.ts';

export const SERVICE = {
  tag: 'Service',
  about:
    'Whether this process lives and should get requests. At the address of the service, whatever the tenant.',
};

/** Answers before a route is known, of Node's parser and of the shell. */
const ERRORS: readonly (readonly [number, readonly ErrorCode[]])[] = [
  [400, ['invalid_request']],
  [408, ['request_timeout']],
  [431, ['header_fields_too_large']],
  [500, ['server_error']],
];

/** Those of the documents, which count against the limit of an address. The probes do not. */
const LIMITED: typeof ERRORS = [...ERRORS, [429, ['rate_limited']]];

const DOCUMENT = [...EVERY_ANSWER, 'cache-control', 'etag'];

const temporal = z
  .enum(['ok', 'degraded'])
  .describe('Without Temporal this process serves requests; deliveries wait.');

const healthSchema = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Health' });
const readinessSchema = z
  .strictObject({ status: z.literal('ready'), database: z.literal('ok'), temporal })
  .meta({ id: 'Readiness' });
const notReadySchema = problemSchema
  .extend({ database: z.enum(['ok', 'unavailable', 'migrations_pending']), temporal })
  .meta({ id: 'NotReady', description: 'Problem details with the states of the parts (RFC 7807 §3.2)' });
const textSchema = z.string().meta({ id: 'LlmsText' });
const openApiSchema = z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApi' });

/** @param publicUrl the address of the service, at which these routes are */
export function describeSystemPaths(
  publicUrl: string,
  { schemas, problems }: { schemas: ReturnType<typeof createSchemaCollector>; problems: ProblemCollector },
): Record<string, JsonSchema> {
  const at = (
    operationId: string,
    summary: string,
    description: string,
    responses: JsonSchema,
    errors = ERRORS,
  ) => ({
    servers: [{ url: publicUrl, description: 'The service' }],
    get: {
      operationId,
      summary,
      description,
      tags: [SERVICE.tag],
      security: [],
      parameters: [{ $ref: '#/components/parameters/x-request-id' }],
      responses: {
        ...responses,
        ...Object.fromEntries(
          errors.map(([status, codes]) => [status, problems.describe(status, codes, operationId)]),
        ),
      },
    },
  });
  const answer = (
    description: string,
    schema: z.ZodType,
    headers: readonly string[] = ['x-request-id'],
    type = 'application/json',
  ) => ({
    description,
    headers: headersOf(headers),
    content: { [type]: { schema: schemas.describe(schema, 'output') } },
  });
  const notReady = schemas.describe(notReadySchema, 'output');
  return {
    '/healthz': at('getHealth', 'Ask whether this process lives', 'Looks at nothing but itself.', {
      200: answer('It lives', healthSchema),
    }),
    '/readyz': at(
      'getReadiness',
      'Ask whether this process should get requests',
      'Looks at the database and its migrations. The answer names Temporal’s state too, which does not count.',
      {
        200: answer('It is ready', readinessSchema),
        503: {
          description: 'It is not ready: `temporarily_unavailable`',
          headers: headersOf(['x-request-id', 'retry-after']),
          content: { 'application/problem+json': { schema: notReady } },
        },
      },
    ),
    '/openapi.json': at(
      'getOpenApi',
      'Read this document',
      'As this process serves it.',
      documentAnswers(answer('OpenAPI 3.1', openApiSchema, DOCUMENT)),
      LIMITED,
    ),
    '/llms.txt': at(
      'getLlmsText',
      'Read what this service is',
      'Markdown with links (llmstxt.org).',
      documentAnswers(answer('The text', textSchema, DOCUMENT, 'text/plain')),
      LIMITED,
    ),
  };
}

const documentAnswers = (whole: JsonSchema): JsonSchema => ({
  200: whole,
  304: { description: NOT_MODIFIED.description, headers: headersOf(DOCUMENT) },
});
