// Schemas of the options of operators' commands.
import { z } from 'zod';
import { readDuration } from '../../platform/command-times.ts';

/** Each text has one line, so that it fits a log line. */
export const intentSchema = z.object({
  operator: z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters'),
  reason: z
    .string()
    .trim()
    .min(1, 'must say something')
    .max(500, 'must be at most 500 characters')
    .refine((text) => !/\p{Cc}/u.test(text), 'must be one line of text'),
});

/** The length of a hold: until a time, or for some seconds. With neither, the hold lasts until it is released. */
export const lengthSchema = z
  .object({
    until: z.iso
      .datetime({ offset: true, error: 'must be a time such as 2026-03-01T12:00:00Z' })
      .transform((text) => new Date(text))
      .refine((time) => time.getTime() > Date.now(), 'must be in the future')
      .optional(),
    for: z
      .string()
      .refine((text) => readDuration(text) !== undefined, 'must be a duration such as 90s, 30m, 12h or 7d')
      .transform((text) => readDuration(text) ?? 0)
      .optional(),
  })
  .refine(({ until, for: seconds }) => until === undefined || seconds === undefined, {
    path: ['for'],
    error: 'cannot stand beside --until',
  });

const limit = z.coerce.number('must be a whole number').int('must be a whole number').min(1).max(1_000);

export const logSchema = z.object({ limit });

export const failingSchema = z.object({
  limit,
  errorClass: z
    .string()
    .regex(/^[a-z_]{1,40}$/, 'must be what stands before the colon of a code, such as tls')
    .optional(),
});
