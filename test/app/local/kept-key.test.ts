// The keys of a data folder: each is made once.
import { writeFile } from 'node:fs/promises';
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

it('refuses a file in which one of the keys is none, by the name of the setting', async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, 'audit.key'), `${BEFORE},short\n`, { mode: 0o600 });
  await expect(obtainKey('AUDIT_KEY', folder)).rejects.toThrow(
    /AUDIT_KEY.*audit\.key does not hold 32 bytes/s,
  );
});
