import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { watchPart } from '../../../src/app/local/foreign-part.ts';

it('the end of a part is told also when its log cannot be read', async () => {
  const child = spawn(process.execPath, ['-e', 'process.exit(3)'], { stdio: 'ignore' });
  const said = () => {
    throw new Error('EMFILE: too many open files');
  };
  expect(await watchPart(child, { dataDir: '/data', output: { said, path: '/data/logs/part.log' } })).toEqual(
    {
      reason: null,
      description: 'exit code 3 (see /data/logs/part.log)',
    },
  );
});
