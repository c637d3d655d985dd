// The commands of docs/events.md, run as they stand against the real service.
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';
import { startTenants, type Tenants } from '../isolation/tenants-server.ts';

const canRun = ['bash', 'curl'].every((program) => spawnSync(program, ['--version']).status === 0);
const page = readFileSync('docs/events.md', 'utf8');
const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n');

let tenants: Tenants;
beforeAll(async () => {
  tenants = await startTenants();
});
afterAll(() => tenants.close());

describe('docs/events.md', () => {
  it.skipIf(!canRun)('looks a type up, publishes, and follows the feed', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.data'));
    writeFileSync(join(folder, '.data/demo-tenant.json'), JSON.stringify(tenants.owner.credentials));
    const { stdout } = await promisify(execFile)('bash', ['-ec', commands], { cwd: folder, timeout: 60_000 });
    const answers = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(answers).toEqual([
      expect.objectContaining({ type: 'auth.token.issued', reserved: true, example: expect.any(Object) }),
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
      { data: expect.any(Array), next_cursor: expect.any(String), has_more: false },
      expect.objectContaining({ event_id: 'o-1001-placed', test: false, deliveries: [] }),
    ]);
  });
});
