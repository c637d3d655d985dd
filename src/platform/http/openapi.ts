// Builds openapi.json from the route table, whose schemas also validate the requests.
import type { Config } from '../config.ts';
import { publishErrors } from '../errors/catalogue.ts';
import { runSteps } from '../steps.ts';
import {
  describeAssertions,
  describeExamples,
  describeHeaders,
  describeTags,
  PARAMETERS,
  problemSchema,
  SECURITY_SCHEMES,
} from './openapi-components.ts';
import { describeOperation, describePath } from './openapi-operation.ts';
import { createProblemCollector } from './openapi-problems.ts';
import { createSchemaCollector, type JsonSchema } from './openapi-schemas.ts';
import { describeSystemPaths, SERVICE } from './openapi-system.ts';
import type { Route } from './route.ts';

type OpenApiConfig = Pick<Config, 'publicUrl' | 'tenantUrl' | 'defaultTenant' | 'errorTypeBase'>;

/** What the document says of events: the webhooks, and the components that they refer to. */
type EventsDescription = {
  readonly webhooks: JsonSchema;
  readonly components: Readonly<Record<'schemas' | 'parameters' | 'responses', JsonSchema>>;
};

/** Makes it in steps of a few milliseconds. */
export type DescribeEvents = () => Generator<void, EventsDescription, void>;

const NO_EVENTS: EventsDescription = {
  webhooks: {},
  components: { schemas: {}, parameters: {}, responses: {} },
};

const DESCRIPTION = `Agent identity, agent authentication and signed webhook events.

- **Addresses.** A tenant has one base URL, which is its issuer too; every path below, apart from those of the service itself, is relative to it.
- **Guides** are below \`/docs/guides\` of each base URL, as HTML or Markdown; \`/llms.txt\` lists them.
- **Errors** are problem details (RFC 7807) with the OAuth fields of RFC 6749: act on \`error\`, show \`detail\`, and quote \`request_id\`. The media type is
  \`application/problem+json\` or \`application/json\`, by \`Accept\`. An address that is none answers 404, a method that it does not have 405 with
  \`Allow\`. \`x-error-codes\` lists every code, with those that are reserved: named for clients, and caused by nothing yet.
- **Bodies** are JSON in UTF-8 of at most 128 KiB, 1 MiB for published events (forms at the OAuth routes): no repeated member, no lone
  surrogate, no U+0000, no member \`__proto__\`, at most 64 levels. Unknown fields and query parameters are refused; fields of the answer may be sent back on PUT and PATCH, and are ignored.
- **Lists** are pages, the newest first: pass \`next_cursor\` as \`cursor\` until it is null.
- **Reading again.** A GET with \`If-None-Match\`, of any tag the first time, is answered with an \`ETag\`, and with 304 while the answer is the same.
- **Limits.** \`RateLimit\` and \`RateLimit-Policy\` tell what is left; 429 and 503 say in \`Retry-After\` when to come back.`;

export type OpenApiNeeds = {
  readonly routes: readonly Route[];
  readonly config: OpenApiConfig;
  readonly describeEvents?: DescribeEvents | undefined;
};

/** @returns the OpenAPI 3.1 document of all routes, as plain JSON values */
export function createOpenApi(needs: OpenApiNeeds): JsonSchema {
  return runSteps(describeInSteps(needs));
}

/** Like `createOpenApi`, which takes half a second, in steps of a few milliseconds. */
export function* describeInSteps({
  routes,
  config,
  describeEvents,
}: OpenApiNeeds): Generator<void, JsonSchema, void> {
  const schemas = createSchemaCollector();
  const problems = createProblemCollector();
  // Schemas of answers are described first, so that they get the names without `Input`.
  const answers = routes.flatMap((route) => Object.values(route.responses));
  for (const schema of [problemSchema, ...answers.map((answer) => answer.schema)]) {
    if (schema !== undefined) schemas.describe(schema, 'output');
    yield;
  }
  const paths: Record<string, JsonSchema> = describeSystemPaths(config.publicUrl, { schemas, problems });
  for (const route of routes) {
    const path = describePath(route.path);
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: describeOperation(route, { schemas, problems }),
    };
    yield;
  }
  const events = describeEvents === undefined ? NO_EVENTS : yield* describeEvents();
  return {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Countersign',
      version: '1.0.0',
      description: DESCRIPTION,
    },
    servers: describeServers(config),
    tags: describeTags([...routes, SERVICE]),
    'x-error-codes': publishErrors(),
    paths,
    webhooks: events.webhooks,
    components: {
      schemas: { ...schemas.components, ...events.components.schemas },
      securitySchemes: { ...SECURITY_SCHEMES, private_key_jwt: describeAssertions(config.publicUrl) },
      responses: { ...problems.components, ...events.components.responses },
      parameters: { ...PARAMETERS, ...events.components.parameters },
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
