import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../../../src/app/local/demo/api.ts';
import { identify } from '../../../src/app/local/processes.ts';
import { takePort } from '../../setup/ports.ts';
import { buildStack } from './stack.ts';
import { temporaryFolder } from './temporary-folder.ts';

let build = '';
beforeAll(async () => {
  build = await buildStack();
});

function runDemo(dataDir: string) {
  const env = { ...process.env, DATA_DIR: dataDir };
  const demo = join(build, 'src/app/local/demo/demo.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [demo], { env, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}`.trim() };
}

describe('the demo', () => {
  it('says in one line that nothing was started, whatever a start that was killed left behind', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'lock'), JSON.stringify({ pid: process.pid, started: 'before' }));
    expect(runDemo(folder)).toEqual({
      status: 1,
      said: `✗ ${folder}/demo-tenant.json is not there: start the service first, with npm start`,
    });
  });

  it('says in one line that the service is still starting', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'lock'), JSON.stringify(identify(process.pid)));
    expect(runDemo(folder)).toEqual({
      status: 1,
      said: '✗ The service is still starting: run the demo once npm start says that it is ready.',
    });
  });

  it('asks for a while, saying so once, and then says in one line that nobody answers', async () => {
    const origin = `http://127.0.0.1:${await takePort()}`;
    const credentials = {
      ...{ tenant_id: 't', slug: 'demo', client_id: 'c', client_secret: 's' },
      ...{ base_url: origin, issuer_url: origin },
    };
    const said: string[] = [];
    const api = createApi({ credentials, onWait: (line) => said.push(line), pause: 1 });
    await expect(api.bearer()).rejects.toThrow(
      `${origin} does not answer: start the service first, with npm start`,
    );
    expect(said).toEqual(['POST /oauth/token: the service is not there; asking again until it is']);
  });
});
