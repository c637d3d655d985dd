// Schemas of users in requests and answers.
import { z } from 'zod';
import { present } from '../../platform/http/present.ts';
import { LONGEST } from './subject.ts';
import type { Forgotten } from './user-forgetting.service.ts';

export const issuer = z
  .string()
  .min(1)
  .max(LONGEST.issuer)
  .regex(/^https?:\/\/[!"$->@-[\]-~]+$/, 'must be a URL without query and fragment')
  .meta({ description: 'Issuer of the tokens of the user: a trusted issuer, or the issuer of this tenant.' });
export const sub = z
  .string()
  .min(1)
  .max(LONGEST.sub)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
  .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, 'must not contain control characters')
  .meta({ description: 'The user as that issuer names him.' });

export const subject = z.strictObject({ issuer, sub });

export const forgetUserBody = z.strictObject({ subject }).meta({ id: 'UserToForget' });

export const forgottenUserSchema = z
  .strictObject({
    forgotten: z.boolean().meta({ description: 'false: nobody of this name is known.' }),
    user_id: z.uuid().nullable().meta({ description: 'The `sub` that tokens of the user had.' }),
    revoked_delegations: z.int().min(0),
  })
  .meta({ id: 'ForgottenUser' });

/** Converts what a forgetting has done to its JSON answer. */
export const presentForgotten = (done: Forgotten) => present(forgottenUserSchema, done);
