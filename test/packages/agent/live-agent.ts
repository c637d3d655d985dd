// Agents of a live service for the tests of the package: made by management, used by `createAgent` over HTTP.
import { generateKeyPairSync } from 'node:crypto';
import { type AgentOptions, createAgent } from '../../../packages/agent/src/index.ts';
import type { Party } from '../../isolation/tenants-server.ts';

export const AUDIENCE = 'https://vault.example';

/** A key as `openssl genpkey` makes it. */
export function newPem(algorithm: 'ed25519' | 'es256' = 'ed25519'): string {
  const { privateKey } =
    algorithm === 'ed25519'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
}

/** @returns the id of a new agent */
export async function newAgent(owner: Party, changes: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await owner.send('POST', '/api/v1/agents', {
    name: 'packaged',
    scopes: ['openid', 'profile', 'vault:read'],
    audiences: [AUDIENCE],
    ...changes,
  });
  if (status !== 201) throw new Error(`no agent: ${JSON.stringify(body)}`);
  return body.id;
}

/** @returns what management hands over to an agent that enrolls */
export async function newEnrollment(owner: Party, agentId: string) {
  return (await owner.send('POST', `/api/v1/agents/${agentId}/enrollment-tokens`, {})).body;
}

/** Counts the requests of a client by their path, and lets a test answer some of them. */
export function createRecorder(
  intercept: (url: URL, request: Request) => Response | undefined = () => undefined,
) {
  const paths: string[] = [];
  const recorded: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    paths.push(url.pathname.replace(/^\/t\/[^/]+/, ''));
    return intercept(url, request) ?? fetch(request);
  };
  return { paths, fetch: recorded, forget: () => void paths.splice(0) };
}

/** An agent that has enrolled its key, and the client of it. */
export async function enrolledAgent(
  owner: Party,
  options: Partial<AgentOptions> = {},
  changes: Record<string, unknown> = {},
) {
  const id = await newAgent(owner, changes);
  const issuer = owner.credentials.issuer_url;
  const agent = await createAgent({ issuer, key: newPem(), ...options });
  await agent.enroll(await newEnrollment(owner, id));
  return { id, agent };
}

export const claimsOf = (token: { accessToken: string }) =>
  JSON.parse(Buffer.from(token.accessToken.split('.')[1] ?? '', 'base64url').toString());
