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

/** The answers of every route that takes a token. */
const SHARED: readonly (readonly [ErrorCode, string])[] = [
  ['invalid_token', 'Unauthorized'],
  ['insufficient_scope', 'Forbidden'],
];

const ORDER = Object.keys(ERRORS) as readonly ErrorCode[];

/** `describe` returns a reference to an error answer, and adds the answer to `components`. */
export function createProblemCollector() {
  const components: Record<string, JsonSchema> = {};
  const names = new Map<string, string>();
  return {
    components,
    /** @param codes in any order; not empty. @param operationId the operation that answers so */
    describe(status: number, codes: readonly ErrorCode[], operationId: string): JsonSchema {
      const sorted = ORDER.filter((code) => codes.includes(code));
      const key = `${status} ${sorted.join(' ')}`;
      const name =
        names.get(key) ??
        namesFor(status, sorted, operationId).find((candidate) => !(candidate in components)) ??
        `Error${names.size}`;
      names.set(key, name);
      components[name] ??= describeProblem(status, sorted);
      return { $ref: `#/components/responses/${name}` };
    },
  };
}

export type ProblemCollector = ReturnType<typeof createProblemCollector>;

/** The names that an answer may have, the best first. The last one is the operation's own. */
function namesFor(status: number, codes: readonly ErrorCode[], operationId: string): string[] {
  const shared = SHARED.flatMap(([code, name]) => (codes.includes(code) ? [name] : []));
  const byCodes = codes.map((code) => pascalCase(exampleName(code, status))).join('');
  const own = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Error${status}`;
  return [...shared, ...(codes.length <= 2 ? [byCodes] : []), own];
}

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
      'link',
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
