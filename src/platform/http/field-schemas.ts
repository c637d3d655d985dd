// Schemas of fields that several rooms share. Clients in many languages use the patterns, so they avoid \p.
import { z } from 'zod';
import { CURSOR, PAGE_LIMIT } from '../database/page.ts';
import { parseTimestamp, TIMESTAMP_PATTERN } from '../timestamp.ts';

/** A range in a pattern with literal characters, because escapes differ between dialects of regular expressions. */
const range = (first: number, last: number) => `${String.fromCharCode(first)}-${String.fromCharCode(last)}`;

/** At least one visible character: white space and characters of zero width do not count. */
const VISIBLE = new RegExp(
  `^$|[^\\s${range(0x200b, 0x200f)}${range(0x2060, 0x2064)}${range(0xfeff, 0xfeff)}]`,
);

/** No character that changes the direction of the following text (embeddings, overrides, isolates). */
const ONE_DIRECTION = new RegExp(`^[^${range(0x202a, 0x202e)}${range(0x2066, 0x2069)}]*$`);

/**
 * Names that people read in lists: one line with a visible character, without control characters (C0, DEL, C1) and
 * characters that change the direction of text.
 */
export const displayName = z
  .string()
  .min(1)
  .max(200)
  .regex(VISIBLE, 'must contain a visible character')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
  .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, 'must not contain control characters')
  .regex(ONE_DIRECTION, 'must not contain characters that turn the direction of text')
  .meta({ description: 'Display name.' });

/** The `aud` of tokens, usually a URL: any text without white space or control characters. */
export const audience = z
  .string()
  .min(1)
  .max(500)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
  .regex(/^[^\s\x00-\x1f\x7f-\x9f]+$/, 'must not hold white space or control characters');

const isLimit = (text: unknown) =>
  typeof text === 'string' &&
  /^[1-9]\d{0,2}$/.test(text) &&
  Number(text) >= PAGE_LIMIT.least &&
  Number(text) <= PAGE_LIMIT.most;

/** The query parameters of every list. Only decimal digits are allowed, so that each page has one spelling. */
export const pageParameters = {
  limit: z
    .custom<string>(isLimit, {
      error: `must be a whole number from ${PAGE_LIMIT.least} to ${PAGE_LIMIT.most}`,
    })
    .meta({ type: 'integer', minimum: PAGE_LIMIT.least, maximum: PAGE_LIMIT.most, default: PAGE_LIMIT.usual })
    .transform(Number)
    .default(PAGE_LIMIT.usual),
  cursor: z
    .string()
    .regex(CURSOR, 'is not a cursor that this list gave')
    .optional()
    .meta({ description: 'The `next_cursor` of the page before; absent for the first.' }),
};

/** The id of the resource in an answer: under its own name, such as `key_id`, and as `id`. */
export function idFields<const Name extends string>(name: Name) {
  const own = { [name]: z.uuid() } as Record<Name, z.ZodUUID>;
  return { id: z.uuid().meta({ description: `The same as \`${name}\`.` }), ...own };
}

/** The body of a request that only its address says more about. */
export const noFields = z.strictObject({}).meta({ id: 'NoFields' });

/** A time in a query (RFC 3339 with its offset), as a Date. */
export const moment = z
  .string()
  .transform((text, issue) => {
    const parsed = parseTimestamp(text);
    if (parsed !== undefined) return parsed;
    issue.addIssue({ code: 'custom', message: 'must be an RFC 3339 date and time with its offset' });
    return z.NEVER;
  })
  .meta({ format: 'date-time', pattern: TIMESTAMP_PATTERN });

export const dpopBoundAccessTokens = z.boolean().meta({
  description:
    'Whether it gets tokens only with a DPoP proof, bound to its key (RFC 9449 §5.2). false, unless said.',
});
