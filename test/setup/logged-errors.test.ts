// The judgement of logged errors: each reaches the file whose rooms logged it.
import { expect, it } from 'vitest';
import { useTestDatabase } from './database.ts';
import { beginFile } from './logged-errors.ts';
import { createTestPlatform } from './platform.ts';

const { database } = await useTestDatabase();
const line = { event: 'relay.failed' };

it('judges a late error of a file in that file, not in the one that runs then', () => {
  const early = beginFile();
  const { log } = createTestPlatform(database);
  const late = beginFile();
  log.error(line, 'said late');
  expect(late.judge).not.toThrow();
  expect(early.judge).toThrow(/during ".*judges a late error.*relay\.failed/s);
  expect(early.judge).not.toThrow();
});

it('leaves warnings alone', () => {
  const errors = beginFile();
  createTestPlatform(database).log.warn(line, 'said');
  expect(errors.judge).not.toThrow();
});
