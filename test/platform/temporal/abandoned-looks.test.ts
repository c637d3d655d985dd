// What a worker keeps in Temporal, while that does not answer: nobody who stops waits for it.
import { NativeConnection } from '@temporalio/worker';
import { afterAll, expect, inject, it, vi } from 'vitest';
import { createExpiryKeeper } from '../../../src/authentication/challenges/challenge-expiry.client.ts';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { keepSchedules } from '../../../src/platform/temporal/schedules.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';
import { installRuntimeOnce } from '../../workflows/delivery-engine.ts';

type Looker = Pick<ReturnType<typeof createTemporalClient>, 'workflow' | 'schedule' | 'withDeadline'>;

installRuntimeOnce();
const proxy = await createStallingProxy(`http://${inject('temporalAddress')}`);
const connection = await NativeConnection.connect({ address: new URL(proxy.url).host });
proxy.stall();
afterAll(async () => {
  await proxy.close();
  await connection.close();
});

const failures: unknown[] = [];
const onFailure = (error: unknown) => void failures.push(error);

it.each([
  [
    'the keeper of the sweeps of challenges',
    (client: Looker) =>
      createExpiryKeeper({ client, expiry: { readClock: async () => new Date() }, onFailure }).start(),
  ],
  ['the keeper of schedules', (client: Looker) => keepSchedules({ client, onFailure })],
])('%s stops in the midst of a look, and does not call that a failure', async (_, start) => {
  const client = createTemporalClient(connection, { namespace: inject('temporalNamespace') });
  let hasLooked = false;
  const patient = {
    workflow: client.workflow,
    schedule: client.schedule,
    // The look outlasts the case: a stop that waited for it would, too.
    withDeadline: <T>(_deadline: number | Date, call: () => Promise<T>): Promise<T> => {
      hasLooked = true;
      return client.withDeadline(Date.now() + 600_000, call);
    },
  };
  const { stop } = start(patient);
  await vi.waitUntil(() => hasLooked, PATIENCE);
  await stop();
  expect(failures).toEqual([]);
});
