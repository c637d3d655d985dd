// The memory that a start leaves behind is given back.
import { expect, it } from 'vitest';
import { releaseStartupMemory } from '../../../src/platform/process/startup-memory.ts';

it('objects that nothing holds any more are gone', async () => {
  let held: object | undefined = { large: new Array(1_000).fill('x') };
  const reference = new WeakRef(held);
  held = undefined;
  await new Promise((resolve) => setImmediate(resolve));
  await releaseStartupMemory();
  expect(reference.deref()).toBeUndefined();
});
