// Schemas of the signatures that agents hand in for the directory of keys.
import { z } from 'zod';

/** The two values are those of the header fields that RFC 9421 gives their names. */
export const directorySignatureBody = z
  .strictObject({
    signature_input: z.string().min(1).max(1_000).meta({
      description:
        'The value of `Signature-Input`: one signature that covers `"@authority";req`, with `created`, `expires` within 30 days, `keyid` (the RFC 7638 thumbprint of a live ed25519 key of the agent) and the tag `http-message-signatures-directory`.',
    }),
    signature: z.string().min(1).max(1_000).meta({ description: 'The value of `Signature`.' }),
  })
  .meta({ id: 'NewDirectorySignature' });

export const directorySignatureSchema = z
  .strictObject({ key_id: z.uuid(), expires_at: z.iso.datetime() })
  .meta({ id: 'DirectorySignature' });

export const directoryParams = z.object({ agent_id: z.uuid() });
