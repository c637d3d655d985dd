// Parses a value by a schema, and turns its issues into one path and one message for each field.
import { z } from 'zod';
import { MOST_TOLD, wordIssue } from './issue-words.ts';
import { cutPath, type FieldError, ServiceError } from './service-error.ts';

type Issue = z.core.$ZodIssue;

/** The first mistakes in a value, at most 100, and how many more there are. */
export type FieldErrors = { readonly errors: readonly FieldError[]; readonly more: number };

/** `invalid_request` for these fields; `detail` has the first field and the number of all. */
export function invalidFields({ errors: [first, ...others], more }: FieldErrors): ServiceError {
  const all = first === undefined ? [] : [first, ...others].slice(0, MOST_TOLD);
  const count = others.length + more;
  return new ServiceError('invalid_request', {
    detail: first && `${cutPath(first.path)}: ${first.message}${count > 0 ? ` (and ${count} more)` : ''}`,
    errors: all.map(({ path, message }) => ({ path: cutPath(path), message })),
  });
}

function describe(prefix: string, issue: Issue): FieldError[] {
  const path = [prefix, ...issue.path.map(String)].join('.');
  if (issue.code === 'unrecognized_keys') {
    const lines = issue.message.split('\n');
    return issue.keys.slice(0, MOST_TOLD).map((key, n) => ({
      path: `${path}.${key}`,
      message: word(lines[n] ?? 'is not a known field'),
    }));
  }
  if (issue.code === 'invalid_union') {
    const nearest = nearestBranch(issue.errors);
    if (nearest !== undefined) return nearest.flatMap((inner) => describe(path, inner));
  }
  return [{ path, message: word(issue.message) }];
}

/**
 * The branch of a union with the deepest issue, because the caller most likely meant that branch. Undefined when all
 * issues are at the top.
 */
function nearestBranch(branches: readonly Issue[][]): Issue[] | undefined {
  // Math.max(...lengths) would fail, because a call takes a limited number of arguments.
  const depth = (issues: Issue[]) => issues.reduce((most, { path }) => Math.max(most, path.length), 0);
  const deepest = branches.reduce((most, issues) => Math.max(most, depth(issues)), 0);
  return deepest === 0 ? undefined : branches.find((issues) => depth(issues) === deepest);
}

/**
 * Parses a value, with messages in the words of this service. A value may have thousands of mistakes, and to word one
 * costs more than to find it: only the first are worded.
 * @param part the origin of the value: `body`, `query` …
 */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  part: string,
  value: unknown,
): { readonly value: z.output<Schema> } | FieldErrors {
  const context = { error: wordIssue, async: false };
  const result = schema._zod.run({ value, issues: [] }, context);
  if (result instanceof Promise) throw new z.core.$ZodAsyncError();
  const { issues } = result;
  if (issues.length === 0) return { value: result.value as z.output<Schema> };
  // An unknown name is the cause of a missing one: the first error is what a person reads.
  const isUnknown = ({ code }: (typeof issues)[number]) => code === 'unrecognized_keys';
  const errors = [...issues.filter(isUnknown), ...issues.filter((issue) => !isUnknown(issue))]
    .slice(0, MOST_TOLD)
    .flatMap((issue) => describe(part, z.core.util.finalizeIssue(issue, context, z.core.config())))
    .slice(0, MOST_TOLD);
  const all = issues.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1),
    0,
  );
  return { errors, more: Math.max(0, all - errors.length) };
}

/** RFC 6749 §5.2 forbids quotation marks and backslashes in `error_description`. */
function word(message: string): string {
  return message.replace(/^Invalid input: /, '').replace(/["\\]/g, "'");
}
