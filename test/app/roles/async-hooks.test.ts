// Async hooks that stay on make every await of a process cost double.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { buildStack } from '../local/stack.ts';

/** Promises have ids while a hook or an AsyncLocalStorage is in use. In a process of its own: test runners use both. */
const PROGRAM = `
import { executionAsyncId } from 'node:async_hooks';
const [, module, settings] = process.argv;
const { askTemporal } = await import(module);
const areHooksOn = async () => {
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.resolve();
  return executionAsyncId() !== 0;
};
const before = await areHooksOn();
const probed = await askTemporal(JSON.parse(settings));
const after = await areHooksOn();
console.log(JSON.stringify({ before, probed, after }));
`;

it('a probe of Temporal by the api leaves no async hooks on', async () => {
  const address = inject('temporalAddress');
  const port = Number(address.split(':')[1]);
  const settings = { address, port, namespace: inject('temporalNamespace'), variables: {} };
  const module = pathToFileURL(join(await buildStack(), 'src/platform/temporal/probe.client.js')).href;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    PROGRAM,
    module,
    JSON.stringify(settings),
  ]);
  expect(JSON.parse(stdout)).toEqual({ before: false, probed: true, after: false });
});
