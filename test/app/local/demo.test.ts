// `npm run demo`, against real processes of api and worker: every check holds.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startLiveTenant } from '../../console/live-service.ts';
import { takePort } from '../../setup/ports.ts';
import { temporaryFolder } from './temporary-folder.ts';

async function runDemo(dataDir: string) {
  const demo = spawn(process.execPath, ['examples/demo/demo.mjs'], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  demo.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const [status] = await once(demo, 'exit');
  return { status, said: said.trim() };
}

function folderOf(credentials: object): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'demo-tenant.json'), JSON.stringify(credentials));
  return folder;
}

describe('the demo', () => {
  it('shows agents and deliveries, and all of its checks hold', async () => {
    const { status, said } = await runDemo(folderOf(await startLiveTenant()));
    expect(said).toMatch(/\n29 checks held, 0 did not\.$/);
    expect(status).toBe(0);
  });

  it('says in one line that nothing was started', async () => {
    const folder = temporaryFolder();
    expect(await runDemo(folder)).toEqual({
      status: 1,
      said: `✗ ${folder}/demo-tenant.json is not there: run npm start, and the demo once it says that it is ready`,
    });
  });

  it('says in one line that nobody answers', async () => {
    const origin = `http://127.0.0.1:${await takePort()}`;
    const { status, said } = await runDemo(folderOf({ slug: 'demo', base_url: origin, issuer_url: origin }));
    expect([status, said.split('\n').at(-1)]).toEqual([
      1,
      `✗ ${origin} does not answer: start the service first, with npm start`,
    ]);
  });
});
