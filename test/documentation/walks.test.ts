// Runs the shell blocks of the pages for those who use the service, as they stand there, in their order, against the
// real service.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimsOf } from '../authentication/tokens/refresh-fixture.ts';
import { startTenants, type Tenants } from '../isolation/tenants-server.ts';
import { installPackage } from '../packages/packed-package.ts';
import { takePort } from '../setup/ports.ts';
import { readBlocks } from './pages.ts';
import { canRun, runScript, scriptOf } from './walk.ts';

let tenants: Tenants;
let folder: string;

beforeAll(async () => {
  tenants = await startTenants();
  folder = await mkdtemp(join(tmpdir(), 'countersign-walk-'));
  await mkdir(join(folder, '.data'));
  await writeFile(join(folder, '.data/demo-tenant.json'), JSON.stringify(tenants.owner.credentials));
});
afterAll(async () => {
  await tenants?.close();
  await rm(folder, { recursive: true, force: true });
});

const walk = (script: string, env: Readonly<Record<string, string>> = {}) =>
  runScript(script, { cwd: folder, env });
const parseAll = (lines: readonly string[]) => lines.map((line) => JSON.parse(line));

describe.skipIf(!canRun)('the commands of', () => {
  it('docs/agents.md, token-exchange.md, workloads.md and shared-signals.md work one after the other', async () => {
    const [key, self, trusted, ...rest] = await walk(
      [
        scriptOf('docs/agents.md', 'docs/token-exchange.md', 'docs/workloads.md', 'docs/shared-signals.md'),
        'printf "%s\\n" "$(cat vault.json)" "$(cat delegated.json)" "$(cat workload.json)"',
      ].join('\n'),
    );
    const [registered, agent, issuer] = parseAll([key ?? '', self ?? '', trusted ?? '']);
    expect(registered).toMatchObject({ state: 'active', verified_at: expect.any(String) });
    expect(agent).toMatchObject({ id: registered.agent_id, authenticated_key_id: registered.key_id });
    expect(issuer).toMatchObject({
      issuer: 'https://login.example.com',
      jwks: { keys: [expect.any(Object)] },
    });
    const [platform, stream, vault, delegated, workload] = parseAll(rest.filter((line) => /^\{"/.test(line)));
    expect(rest.join('\n')).toContain("delegated_subject: { iss: 'https://login.example.com', sub: 'ada' }");
    expect(platform).toMatchObject({ rules: [{ agent_id: registered.agent_id }] });
    expect(stream).toMatchObject({ delivery: { method: 'urn:ietf:rfc:8935' } });
    expect(claimsOf(vault.access_token)).toMatchObject({
      sub: registered.agent_id,
      aud: 'https://vault.example',
      scope: 'openid vault:read',
    });
    expect(claimsOf(delegated.access_token)).toMatchObject({ act: { sub: registered.agent_id } });
    expect(claimsOf(workload.access_token)).toMatchObject({ sub: registered.agent_id, scope: 'vault:read' });
  });

  it('docs/key-rotation.md go on after docs/agents.md', async () => {
    const lines = await walk(scriptOf('docs/agents.md', 'docs/key-rotation.md'));
    const [, self, waiting, canceled, revoked, rotation] = parseAll(lines);
    expect(waiting).toMatchObject({ agent_id: self.id, state: 'waiting_for_switch' });
    expect(canceled).toMatchObject({ rotation_id: waiting.rotation_id, state: 'canceled' });
    expect(revoked).toMatchObject({ key_id: waiting.new_key_id, state: 'revoked' });
    expect(rotation).toMatchObject({
      agent_id: self.id,
      old_key_id: waiting.old_key_id,
      state: 'waiting_for_switch',
    });
  });

  it('docs/resource-servers.md let an agent with the capability in', async () => {
    const options = { packed: ['jose', '@countersign/agent'], linked: ['express'] };
    const consumer = await installPackage('resource-server', options);
    try {
      const port = String(await takePort());
      const [express = ''] = readBlocks('docs/resource-servers.md', 'js');
      await writeFile(join(consumer.folder, 'express.mjs'), express);
      await cp(join(folder, '.data'), join(consumer.folder, '.data'), { recursive: true });
      // In the place of `sleep`: waits for what it waits for, however slow the machine is.
      const script = `sleep() { until curl -s -o /dev/null http://127.0.0.1:${port}/; do command sleep 0.1; done; }
        ${scriptOf('docs/agents.md')}
        cp "${consumer.folder}/express.mjs" .
        ${scriptOf('docs/resource-servers.md').replaceAll('9100', port)}`;
      const lines = await runScript(script, { cwd: consumer.folder, env: {} });
      expect(lines.at(-1)).toMatch(/^\{ agent: '[0-9a-f-]{36}', orders: \[\] \}$/);
    } finally {
      await consumer.close();
    }
  });

  it('docs/events.md look a type up, publish, and follow the feed', async () => {
    const lines = await walk(scriptOf('docs/events.md'));
    expect(lines.join('\n')).toContain("type: 'auth.token.issued'");
    expect(parseAll(lines.filter((line) => /^\{"/.test(line)))).toEqual([
      { event_id: 'o-1001-placed', deliveries: 0 },
      {
        results: [
          { event_id: expect.any(String), deliveries: 0 },
          expect.objectContaining({
            status: 400,
            errors: [expect.objectContaining({ path: 'body.1.type' })],
          }),
        ],
      },
      {
        data: expect.any(Array),
        next_cursor: expect.any(String),
        has_more: false,
        read_at: expect.any(String),
        complete_until: expect.any(String),
      },
      expect.objectContaining({ event_id: 'o-1001-placed', test: false, deliveries: [] }),
      expect.objectContaining({ data: expect.any(Array), has_more: false, complete_until: null }),
      expect.objectContaining({ data: [expect.objectContaining({ event_id: 'o-1001-placed' })] }),
    ]);
    expect(lines).toContain('event: complete');
  });

  it('docs/audit-log.md fetch the proofs of an auditor', async () => {
    const { body: log } = await tenants.owner.send('GET', '/api/v1/audit-logs/checkpoints');
    const { body: lines } = await tenants.owner.send('GET', '/api/v1/audit-logs?limit=100');
    const env = {
      ADMIN: tenants.owner.token,
      BASE: tenants.owner.credentials.base_url,
      ID: lines.data.at(-1).id,
      SIZE: String(log.data.at(-1).tree_size),
    };
    const script = `${scriptOf('docs/audit-log.md')}\ncat inclusion.json; echo; cat consistency.json`;
    const [inclusion, consistency] = parseAll(await walk(script, env));
    expect(inclusion).toMatchObject({ proof: expect.any(String) });
    expect(consistency).toMatchObject({ from: Number(env.SIZE) });
  });
});
