// Async hooks that stay on make every await of a process cost double.
import { executionAsyncId } from 'node:async_hooks';
import { expect, inject, it } from 'vitest';
import {
  createLazyConnection,
  probeTemporal,
  probeWithoutHooks,
} from '../../../src/platform/temporal/client.ts';

/** Whether promises have ids: they have them while a hook or an AsyncLocalStorage is in use. */
async function areHooksOn(): Promise<boolean> {
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.resolve();
  return executionAsyncId() !== 0;
}

it('a probe of Temporal by the api leaves no async hooks on', async () => {
  const address = inject('temporalAddress');
  const port = Number(address.split(':')[1]);
  const settings = { address, port, namespace: inject('temporalNamespace'), variables: {} };
  const connection = createLazyConnection(settings);
  const before = await areHooksOn();
  expect(await probeTemporal(connection, settings)).toBe(true);
  const during = await areHooksOn();
  expect(await probeWithoutHooks(connection, settings)).toBe(true);
  const after = await areHooksOn();
  await connection.close();
  expect({ before, after }).toEqual({ before: false, after: false });
  // From Node.js 24 on, AsyncLocalStorage needs no hooks.
  expect(during).toBe(Number.parseInt(process.versions.node, 10) < 24);
});
