// The shapes of what an operator types. A reason is never optional.
import { z } from 'zod';

/** Who acts, and why; both on one line, for logs. */
export const intentSchema = z.object({
  operator: z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters'),
  reason: z
    .string()
    .trim()
    .min(1, 'must say something')
    .max(500, 'must be at most 500 characters')
    .refine((text) => !/\p{Cc}/u.test(text), 'must be one line of text'),
});

/** How many acts are listed, the newest first. */
export const logSchema = z.object({
  limit: z.coerce.number('must be a whole number').int('must be a whole number').min(1).max(1_000),
});
