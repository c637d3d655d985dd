// Parses a value by a schema, and turns its issues into one path and one message for each field.
import type { z } from 'zod';
import { cutPath, type FieldError, ServiceError } from '../errors/service-error.ts';
import { MOST_TOLD, wordIssue } from './issue-words.ts';

type Issue = z.core.$ZodIssue;

/** `invalid_request` for these fields, at most 100 of them; `detail` has the first field and the number of all. */
export function invalidFields(errors: readonly FieldError[]): ServiceError {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  const told = errors.slice(0, MOST_TOLD).map(({ path, message }) => ({ path: cutPath(path), message }));
  return new ServiceError('invalid_request', {
    detail: first === undefined ? undefined : `${cutPath(first.path)}: ${first.message}${more}`,
    errors: told,
  });
}

function describe(prefix: string, issue: Issue): FieldError[] {
  const path = [prefix, ...issue.path.map(String)].join('.');
  if (issue.code === 'unrecognized_keys') {
    const lines = issue.message.split('\n');
    return issue.keys.map((key, n) => ({
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
 * Parses a value, with messages in the words of this service.
 * @param part the origin of the value: `body`, `query` …
 */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  part: string,
  value: unknown,
): { readonly value: z.output<Schema> } | { readonly errors: FieldError[] } {
  const result = schema.safeParse(value, { error: wordIssue });
  return result.success
    ? { value: result.data }
    : { errors: result.error.issues.flatMap((issue) => describe(part, issue)) };
}

/** RFC 6749 §5.2 forbids quotation marks and backslashes in `error_description`. */
function word(message: string): string {
  return message.replace(/^Invalid input: /, '').replace(/["\\]/g, "'");
}
