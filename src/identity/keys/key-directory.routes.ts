// The directory of a tenant's keys for Web Bot Auth, and the routes by which agents and tenants hand in signatures.
import { createHash } from 'node:crypto';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { DOCUMENT_HEADERS, NOT_MODIFIED, ok, publicDocument } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { present } from '../../platform/http/present.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import type { AgentService } from '../agents/agent.service.ts';
import {
  directoryParams,
  directorySignatureBody,
  directorySignatureSchema,
} from './key-directory.schemas.ts';
import type { KeyDirectory, KeyDirectoryService } from './key-directory.service.ts';
import { DIRECTORY_PATH, DIRECTORY_TYPE } from './key-directory.ts';
import { agentJwkSetSchema } from './key-set.schemas.ts';

/** Seconds for which a verifier may use a directory. */
const MAX_AGE = 30;

const HEADERS = [...DOCUMENT_HEADERS, 'signature', 'signature-input'] as const;

const DEPOSIT = {
  method: 'PUT',
  description:
    'The key stands in the directory until the signature expires, the key ends, or the agent is suspended. A new signature replaces that of the same key. A directory has 20 keys at most.',
  responses: { 200: { description: 'The signature is kept', schema: directorySignatureSchema } },
  errors: ['conflict'],
} as const;

export function createKeyDirectoryRoutes({
  directory,
  agents,
}: {
  directory: KeyDirectoryService;
  agents: Pick<AgentService, 'exists'>;
}): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: DIRECTORY_PATH,
      operationId: 'getKeyDirectory',
      summary: 'Directory of ed25519 keys for Web Bot Auth, with their signatures',
      description:
        'draft-meunier-http-message-signatures-directory: each key of the set has signed `"@authority";req` with the tag `http-message-signatures-directory`.',
      tag: 'Keys',
      scope: null,
      whileSuspended: true,
      responses: {
        200: {
          description: 'The JWK set',
          schema: agentJwkSetSchema,
          contentType: DIRECTORY_TYPE,
          headers: HEADERS,
        },
        304: NOT_MODIFIED,
      },
      handler: async ({ context }) => presentDirectory(await directory.describe(context)),
    }),
    defineRoute({
      ...DEPOSIT,
      path: '/api/v1/agents/:agent_id/directory-signature',
      operationId: 'depositDirectorySignature',
      summary: "Hand in a signature with which an agent's key stands in the directory",
      tag: 'Keys',
      scope: 'agents:write',
      request: { params: directoryParams, body: directorySignatureBody },
      exists: (context, params) => agents.exists(context, params.agent_id),
      handler: async ({ context, params, body }) =>
        ok(
          present(
            directorySignatureSchema,
            await directory.deposit(context, params.agent_id, readFields(body)),
          ),
        ),
    }),
    defineRoute({
      ...DEPOSIT,
      path: '/auth/agent/directory-signature',
      cors: true,
      operationId: 'depositOwnDirectorySignature',
      summary: 'The same for a key of the agent that the token is of',
      tag: 'Agent authentication',
      scope: null,
      subject: 'agent',
      anyAudience: true,
      request: { body: directorySignatureBody },
      handler: async ({ context, body }) => {
        const agentId = context.principal?.agentId;
        if (agentId === undefined)
          throw new ServiceError('insufficient_scope', {
            detail: 'The token is not of an agent of this tenant.',
          });
        return ok(
          present(directorySignatureSchema, await directory.deposit(context, agentId, readFields(body))),
        );
      },
    }),
  ];
}

/** The tag of the answer is over its signatures too: a new one is another version of the same keys. */
function presentDirectory({ document, headers }: KeyDirectory) {
  const answer = publicDocument(document, { contentType: DIRECTORY_TYPE, maxAge: MAX_AGE });
  const digest = createHash('sha256')
    .update(JSON.stringify([document, headers]))
    .digest('base64url');
  return { ...answer, headers: { ...answer.headers, ...headers, etag: `"${digest}"` } };
}
