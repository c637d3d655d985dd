// Validates the input of a command with the schemas of the HTTP interface.
import type { ZodType, z } from 'zod';
import { ServiceError } from './errors/service-error.ts';
import { toFieldErrors } from './http/field-errors.ts';

/**
 * @param schema of the HTTP request that corresponds to the command
 * @param names the name of each field on the command line: `--audience`, `<name>`
 * @throws ServiceError `invalid_request` that names the first wrong option in one line
 */
export function parseInput<Schema extends ZodType>(
  schema: Schema,
  value: z.input<Schema>,
  names: Readonly<Record<string, string>>,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [error] = toFieldErrors('', result.error.issues);
  const [field = ''] = error?.path.slice(1).split('.') ?? [];
  throw new ServiceError('invalid_request', {
    detail: `${names[field] ?? field}: ${error?.message ?? 'is wrong'}`,
  });
}
