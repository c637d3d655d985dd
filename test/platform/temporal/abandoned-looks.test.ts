// What a worker keeps in Temporal, while that does not answer: nobody who stops waits for it.
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createExpiryKeeper } from '../../../src/authentication/challenges/challenge-expiry.client.ts';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { keepSchedules } from '../../../src/platform/temporal/schedules.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';
import { installRuntimeOnce } from '../../workflows/delivery-engine.ts';

let proxy: Awaited<ReturnType<typeof createStallingProxy>>;
let connection: NativeConnection;
beforeAll(async () => {
  installRuntimeOnce();
  proxy = await createStallingProxy(`http://${inject('temporalAddress')}`);
  connection = await NativeConnection.connect({ address: new URL(proxy.url).host });
  proxy.stall();
});
afterAll(async () => {
  await proxy?.close();
  await connection?.close();
});

const failures: unknown[] = [];
const onFailure = (error: unknown) => void failures.push(error);

it.each([
  [
    'the keeper of the sweeps of challenges',
    (client: ReturnType<typeof createTemporalClient>) =>
      createExpiryKeeper({ client, expiry: { readClock: async () => new Date() }, onFailure }).start(),
  ],
  [
    'the keeper of schedules',
    (client: ReturnType<typeof createTemporalClient>) => keepSchedules({ client, onFailure }),
  ],
])('%s stops in the midst of a look, and does not call that a failure', async (_, start) => {
  const client = createTemporalClient(connection, { namespace: inject('temporalNamespace') });
  const { stop } = start(client);
  // The look has been sent by then; its patience is ten seconds and more.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const began = performance.now();
  await stop();
  expect(performance.now() - began).toBeLessThan(4_000);
  expect(failures).toEqual([]);
});
