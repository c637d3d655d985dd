// The error answers of openapi.json. Answers with the same status and codes share one component.
import { ERRORS, type ErrorCode } from '../errors/catalogue.ts';
import { exampleName } from './openapi-components.ts';
import type { JsonSchema } from './openapi-schemas.ts';

/** Headers of every answer, each a component. */
export const EVERY_ANSWER = ['x-request-id', 'ratelimit', 'ratelimit-policy'];

const HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  403: ['www-authenticate'],
  405: ['allow'],
  429: ['retry-after'],
  503: ['retry-after'],
};

const ORDER = Object.keys(ERRORS) as readonly ErrorCode[];

/** `describe` returns a reference to an error answer, and adds the answer to `components`. */
export function createProblemCollector() {
  const components: Record<string, JsonSchema> = {};
  return {
    components,
    /** @param codes in any order; not empty */
    describe(status: number, codes: readonly ErrorCode[]): JsonSchema {
      const sorted = ORDER.filter((code) => codes.includes(code));
      const name = sorted.map((code) => pascalCase(exampleName(code, status))).join('');
      components[name] ??= describeProblem(status, sorted);
      return { $ref: `#/components/responses/${name}` };
    },
  };
}

export type ProblemCollector = ReturnType<typeof createProblemCollector>;

function describeProblem(status: number, codes: readonly ErrorCode[]): JsonSchema {
  const media = {
    schema: { $ref: '#/components/schemas/Problem' },
    examples: Object.fromEntries(
      codes.map((code) => [code, { $ref: `#/components/examples/${exampleName(code, status)}` }]),
    ),
  };
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: headersOf([
      ...EVERY_ANSWER,
      ...(HEADERS[status] ?? []),
      ...(codes.includes('use_dpop_nonce') ? ['dpop-nonce'] : []),
    ]),
    content: { 'application/problem+json': media, 'application/json': media },
  };
}

/** References to headers, each once. */
export function headersOf(names: readonly string[]): JsonSchema {
  return Object.fromEntries(
    [...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

function pascalCase(name: string): string {
  return name.replace(/(?:^|_)([a-z0-9])/g, (_, first: string) => first.toUpperCase());
}
