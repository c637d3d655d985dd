// Validates the input of a command with the schemas of the HTTP interface.
import type { ZodType, z } from 'zod';
import { parseFields } from './errors/field-errors.ts';
import { ServiceError } from './errors/service-error.ts';

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
  const parsed = parseFields(schema, '', value);
  if ('value' in parsed) return parsed.value;
  const [error] = parsed.errors;
  const [field = ''] = error?.path.slice(1).split('.') ?? [];
  throw new ServiceError('invalid_request', {
    detail: `${names[field] ?? field}: ${error?.message ?? 'is wrong'}`,
  });
}
