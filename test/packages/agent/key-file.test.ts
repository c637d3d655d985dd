// The agent's key in a file: made once, readable by its owner only, replaced whole.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createAgent, generateKey } from '../../../packages/agent/src/index.ts';
import { loadOrCreateKey, readKeyFile, writeKeyFile } from '../../../packages/agent/src/node.ts';
import { temporaryFolder } from '../../app/local/temporary-folder.ts';
import { newPem } from './live-agent.ts';

const issuer = 'https://id.example';

it('is made once, and is the same at the next start', async () => {
  const path = join(temporaryFolder(), 'keys', 'agent.json');
  const first = await createAgent({ issuer, key: await loadOrCreateKey(path, 'es256') });
  const second = await createAgent({ issuer, key: await loadOrCreateKey(path) });
  expect(second.fingerprint).toBe(first.fingerprint);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('is replaced by a rotation, whole', async () => {
  const path = join(temporaryFolder(), 'agent.json');
  await loadOrCreateKey(path);
  const next = await generateKey();
  await writeKeyFile(path, next);
  expect(await readKeyFile(path)).toEqual(next);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(next);
});

it('may be PEM, and a file that cannot be read is not taken for one that is absent', async () => {
  const folder = temporaryFolder();
  const pem = newPem();
  writeFileSync(join(folder, 'agent.pem'), pem);
  expect(await readKeyFile(join(folder, 'agent.pem'))).toBe(pem.trim());
  await expect(loadOrCreateKey(folder)).rejects.toThrow('EISDIR');
});
