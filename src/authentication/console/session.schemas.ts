// Bodies of the console's sessions.
import { z } from 'zod';

const secret = (description: string) => z.string().min(1).max(512).meta({ description });

const credentials = z
  .strictObject({
    client_id: secret('That of the application'),
    client_secret: secret("One of the application's secrets"),
  })
  .meta({ id: 'ConsoleCredentials', title: 'ConsoleCredentials' });

const code = z
  .strictObject({ code: secret('That of a link by `countersign console`') })
  .meta({ id: 'ConsoleCode', title: 'ConsoleCode' });

export const newSessionBody = z.union([credentials, code]).meta({ id: 'NewConsoleSession' });

export const consoleTokenSchema = z
  .strictObject({
    access_token: z.string().meta({ description: 'For the management API; keep it in memory only' }),
    expires_in: z.int().meta({ description: 'Seconds' }),
    scope: z.string().meta({ description: 'Separated by spaces' }),
    client_id: z.uuid(),
    application: z.string().meta({ description: 'Its name' }),
    tenant: z.strictObject({ id: z.uuid(), name: z.string(), slug: z.string() }),
  })
  .meta({ id: 'ConsoleToken' });
