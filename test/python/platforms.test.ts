// The receiver for Python behind the real router and server of FastAPI, by the program of docs/receiving-platforms.md.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readBlocks } from '../documentation/pages.ts';
import { SECRET } from '../packages/receiver/delivery-request.ts';
import { expectSafeReceiver } from '../packages/receiver/platform-scenario.ts';
import { takePort } from '../setup/ports.ts';
import { startLocalSender } from '../webhooks/deliveries/attempt.ts';
import { findPython } from './python.ts';
import { whileServing } from './python-server.ts';

const python = findPython({ fastapi: '0.165.0', uvicorn: '0.54.0' });
if (python === undefined)
  process.stdout.write('No Python with FastAPI: the receiver behind its router is left out.\n');

describe.skipIf(python === undefined)('the receiver behind FastAPI', () => {
  const local = startLocalSender();
  afterAll(() => local.close());

  it('takes what our sender sends to the address that everybody writes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'countersign-fastapi-'));
    const [program = ''] = readBlocks('docs/receiving-platforms.md', 'python');
    await writeFile(join(folder, 'hooks.py'), program);
    const port = await takePort();
    const server = ['-m', 'uvicorn', 'hooks:app', '--app-dir', folder, '--port', String(port)];
    const url = `http://127.0.0.1:${port}/hooks`;
    const said = await whileServing(
      url,
      [python ?? '', server, { WEBHOOK_SECRETS: `whsec_old,${SECRET}` }],
      () => expectSafeReceiver(url, local.sender),
    );
    await rm(folder, { recursive: true });
    expect(said.match(/^arrived: /gm)).toHaveLength(4);
    expect(said).not.toContain('Traceback');
  });
});
