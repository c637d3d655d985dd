// Which headers a page of another origin may read, compared with those that the routes say they set.
import { expect, it } from 'vitest';
import { composeOpenApi } from '../../../src/app/wiring/api.ts';
import { EXPOSED } from '../../../src/platform/http/cors.ts';

/** Readable without being named (Fetch standard, CORS-safelisted response-header name). */
const SAFELISTED = ['cache-control', 'pragma'];
/** Readable by no script at all (Fetch standard, forbidden response-header name). */
const FORBIDDEN = ['set-cookie'];

type Answer = { readonly $ref?: string; readonly headers?: Record<string, unknown> };
type Operation = { readonly responses?: Record<string, Answer> };

it('every header that an answer is said to have can be read by a page of another origin', () => {
  const { paths, components } = composeOpenApi({}) as unknown as {
    paths: Record<string, Record<string, Operation>>;
    components: { headers: Record<string, unknown>; responses: Record<string, Answer> };
  };
  const answers = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.values(responses ?? {})),
  );
  const set = answers.flatMap(({ $ref, headers }) =>
    Object.keys(headers ?? components.responses[$ref?.split('/').at(-1) ?? '']?.headers ?? {}),
  );
  expect(new Set(set).size).toBeGreaterThan(15);
  const read = [...EXPOSED, ...SAFELISTED, ...FORBIDDEN];
  expect(
    [...new Set([...set, ...Object.keys(components.headers)])].filter((name) => !read.includes(name)),
  ).toEqual([]);
});
