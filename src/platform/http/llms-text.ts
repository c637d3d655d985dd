// The text of /llms.txt: what this service is and where it is described, in the form of llmstxt.org. Pure.
import type { Config } from '../config.ts';

/** A guide: its name in addresses, its title, and what it answers. */
export type Guide = { readonly name: string; readonly title: string; readonly about: string };

/** @returns Markdown: a title, a summary, and lists of links */
export function createLlmsText(
  { publicUrl, tenantUrl, defaultTenant }: Pick<Config, 'publicUrl' | 'tenantUrl' | 'defaultTenant'>,
  guides: readonly Guide[] = [],
): string {
  const tenant = defaultTenant === undefined ? tenantUrl.replace('{tenant}', 'acme') : publicUrl;
  const links = guides.map(
    ({ name, title, about }) => `- [${title}](${tenant}/docs/guides/${name}.md): ${about}\n`,
  );
  return `# Countersign

> Gives autonomous agents an identity that they prove with keys of their own, issues access tokens to them, and delivers events durably to webhooks with signatures.

- Each tenant has one base URL, which is the issuer of its tokens too: ${tenantUrl}${defaultTenant === undefined ? '' : `, or ${publicUrl} for ${defaultTenant}`}.
- An agent asks for a challenge (POST /auth/agent/challenge), signs it with its key, and gets tokens (POST /auth/agent/verify). Applications use client credentials (POST /oauth/token).
- The management API is below /api/v1 and takes a bearer token with the scope that each operation names.
- Errors are problem details (RFC 7807): act on the member \`error\`.
- Deliveries are POST requests, at least once, signed over the raw body: verify before you parse.

${links.length === 0 ? '' : `## Guides\n\n${links.join('')}\n`}## API

- [OpenAPI 3.1](${publicUrl}/openapi.json): every operation, schema, error and webhook
- [AsyncAPI 3](${tenant}/api/v1/asyncapi.json): the events of a tenant, its own types included; takes a token with webhooks:read
- [Event types](${tenant}/api/v1/event-types): schema and example of each; takes a token with webhooks:read

## Discovery

- [Authorization server metadata](${tenant}/.well-known/oauth-authorization-server): endpoints, grants and algorithms (RFC 8414)
- [JWK Set](${tenant}/.well-known/jwks.json): the keys that verify access tokens

## Optional

- [Liveness](${publicUrl}/healthz): whether this process lives
- [Readiness](${publicUrl}/readyz): whether this process should get requests
`;
}
