import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findRunningStack } from '../../../src/app/local/running-stack.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { temporaryFolder } from './temporary-folder.ts';

const URL_OF_DATABASE = 'postgres://countersign:secret@127.0.0.1:45041/countersign';

function runningStack(ports: Record<string, number | null>) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ database_url: URL_OF_DATABASE, ports }));
  writeFileSync(join(folder, 'master.key'), `${Buffer.alloc(32, 1).toString('base64')}\n`);
  writeFileSync(join(folder, 'audit.key'), `${Buffer.alloc(32, 160).toString('base64')}\n`);
  return folder;
}

it('commands beside a stack on other ports find its database, its Temporal server and its Temporal UI', async () => {
  const DATA_DIR = runningStack({ api: 28080, temporal: 27233, temporal_ui: 28233 });
  const settings = await findRunningStack({ DATA_DIR });
  expect(settings).toMatchObject({ DATABASE_URL: URL_OF_DATABASE, TEMPORAL_ADDRESS: '127.0.0.1:27233' });
  expect(loadConfig(settings, { role: 'command' }).temporal.uiUrl).toBe('http://localhost:28233');
});

it('commands beside a stack with a Temporal server of its own choice name no Temporal UI for it', async () => {
  const DATA_DIR = runningStack({ api: 28080, temporal: null, temporal_ui: null });
  expect(Object.keys(await findRunningStack({ DATA_DIR })).sort()).toEqual([
    'AUDIT_KEY',
    'COUNTERSIGN_LOCAL',
    'DATABASE_URL',
    'MASTER_KEY',
    'PORT',
  ]);
});

it('commands with settings of their own take nothing from a stack', async () => {
  const DATA_DIR = runningStack({ api: 28080, temporal: 27233, temporal_ui: 28233 });
  expect(await findRunningStack({ DATA_DIR, DATABASE_URL: 'postgres://elsewhere/countersign' })).toEqual({});
});
