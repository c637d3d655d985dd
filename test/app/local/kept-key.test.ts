// The keys of a data folder: made once, and going on with a log that an earlier version has begun.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { obtainKey } from '../../../src/app/local/kept-key.ts';
import { temporaryFolder } from './temporary-folder.ts';

const BEFORE = Buffer.alloc(32, 7).toString('base64');
const bytesOf = (key: string) => Buffer.from(key, 'base64').length;

it('makes an audit key that a new master key knows nothing of, and keeps both', async () => {
  const folder = join(temporaryFolder(), 'data');
  const audit = await obtainKey('AUDIT_KEY', folder);
  const master = await obtainKey('MASTER_KEY', folder);
  expect([audit, master].map(bytesOf)).toEqual([32, 32]);
  expect(audit).not.toBe(master);
  expect(await obtainKey('AUDIT_KEY', folder)).toBe(audit);
  expect(await obtainKey('MASTER_KEY', folder)).toBe(master);
});

it('has the master key of a folder behind a new audit key, because it has signed the log before', async () => {
  const folder = temporaryFolder();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'master.key'), `${BEFORE}\n`, { mode: 0o600 });
  const kept = await obtainKey('AUDIT_KEY', folder);
  const [made = '', behind] = kept.split(',');
  expect([bytesOf(made), behind]).toEqual([32, BEFORE]);
  expect(await obtainKey('AUDIT_KEY', folder)).toBe(kept);
  expect(await obtainKey('MASTER_KEY', folder)).toBe(BEFORE);
});

it('refuses a file in which one of the keys is none, by the name of the setting', async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, 'audit.key'), `${BEFORE},short\n`, { mode: 0o600 });
  await expect(obtainKey('AUDIT_KEY', folder)).rejects.toThrow(
    /AUDIT_KEY.*audit\.key does not hold 32 bytes/s,
  );
});
