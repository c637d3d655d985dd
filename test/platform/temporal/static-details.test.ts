// Where the details of a workflow lead an operator: each page is there, also when nobody has set an address for it.
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { detailsOfStart } from '../../../src/platform/temporal/static-details.ts';

const tenant = { slug: 'acme', baseUrl: 'https://id.example/t/acme' };
const tenantOf = async () => tenant;
const page = 'operations/agent-key-rotation';

it.each([
  ['DOCS_URL', 'https://docs.example', tenant, `[What one can do](https://docs.example/${page}.md)`],
  ['the guides of the tenant', undefined, tenant, `[What one can do](${tenant.baseUrl}/docs/guides/${page})`],
  ['the repository, without a tenant', undefined, undefined, `What one can do: docs/${page}.md`],
  ['DOCS_URL, without a tenant', 'https://docs.example', undefined, `(https://docs.example/${page}.md)`],
])('the page of a workflow is that of %s', (_, docsUrl, names, help) => {
  const details = detailsOfStart(
    { docsUrl, tenantOf },
    { workflow: 'agentKeyRotation', tenant: names, path: '/api/v1/agents/1' },
  );
  expect(details).toContain(help);
  expect(details?.includes('[API record](https://id.example/t/acme/api/v1/agents/1)')).toBe(
    names !== undefined,
  );
});

it('each workflow with details has its page', () => {
  const workflows = [
    'agentKeyRotation',
    'anchorVerification',
    'accessReceipt',
    'bulkReplay',
    'endpointRecovery',
    'webhookSecretRotation',
    'delegationExpiry',
    'issuerKeyRotation',
    'tenantErasure',
    'webhookDelivery',
  ];
  for (const workflow of workflows) {
    const details = detailsOfStart({ tenantOf }, { workflow, tenant: undefined, path: undefined }) ?? '';
    const [file = ''] = /docs\/\S+/.exec(details) ?? [];
    expect(existsSync(file), file).toBe(true);
  }
});
