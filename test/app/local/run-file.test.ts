import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRunFile, type RunState } from '../../../src/app/local/run-file.ts';
import { temporaryFolder } from './temporary-folder.ts';

const STATE: RunState = {
  api: [1],
  worker: [2, 3],
  temporal: null,
  postgres: 4,
  ports: { api: 8080, temporal: null, temporal_ui: null, postgres: 5432, metrics: 9464, metrics_api: 9465 },
  database_url: 'postgres://countersign:secret@127.0.0.1:5432/countersign',
};

/** Reads as fast as it can until told to end; exits 1 when it ever saw something that is no whole document. */
const READER = `
  const { readFileSync } = require('node:fs');
  let reads = 0;
  process.stdin.once('data', () => { console.log(reads); process.exit(reads > 0 ? 0 : 1); });
  (function read() {
    for (let n = 0; n < 100; n += 1) { JSON.parse(readFileSync(process.argv[1], 'utf8')); reads += 1; }
    setImmediate(read);
  })();`;

it('run.json is private, and leaves nothing behind', () => {
  const folder = temporaryFolder();
  const runFile = createRunFile(folder);
  runFile.write(STATE);
  expect(JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8'))).toEqual(STATE);
  expect(statSync(runFile.file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['run.json']);
  runFile.remove();
  expect(existsSync(runFile.file)).toBe(false);
});

it('who reads run.json while it changes sees one state or the next, never a part of one', async () => {
  const runFile = createRunFile(temporaryFolder());
  runFile.write(STATE);
  const reader = spawn(process.execPath, ['-e', READER, runFile.file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const began = Date.now();
  for (let pid = 1; Date.now() - began < 700; pid += 1) {
    runFile.write({ ...STATE, api: Array.from({ length: pid % 500 }, (_, index) => pid + index) });
    if (pid % 20 === 0) await new Promise(setImmediate);
  }
  reader.stdin.write('end');
  const [code] = await once(reader, 'exit');
  expect(code).toBe(0);
});
