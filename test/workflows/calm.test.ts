// The wait until nothing is under way: it sees what a relay and a workflow are about to do.
import { afterAll, expect, it } from 'vitest';
import { createEngine, eventually } from './delivery-engine.ts';

const engine = await createEngine();
await engine.startProcess();
afterAll(() => engine.close());

it('lasts until what a relay takes, and a workflow tries again, has ended', async () => {
  const { id, path } = await engine.subscribe({ delaysMs: [1] });
  engine.receiver.answer(path, (_, count) => ({ status: count <= 5 ? 500 : 204, delayMs: 20 }));
  const ids = await engine.publish(id, 5);
  await engine.quiet(id);
  for (const delivery of ids)
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
});

it('lasts until a workflow has done what a command makes it do', async () => {
  const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
  engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 204 }));
  const [delivery = ''] = await engine.publish(id);
  await engine.quiet(id);
  expect(await engine.delivery(delivery)).toMatchObject({ status: 'retrying', attempt_count: 1 });
  await engine.deliveries.retry(engine.context, delivery);
  await engine.quiet(id);
  expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
});

it('ends while rows wait that no relay may take', async () => {
  const { id, path } = await engine.subscribe({ active: false });
  await engine.publish(id, 3);
  await engine.quiet();
  expect(engine.receiver.of(path)).toEqual([]);
  expect(await engine.outbox()).toHaveLength(3);
});

it('does not end while an attempt of a workflow is kept from beginning', async () => {
  const { id, path } = await engine.subscribe({ delaysMs: [1] });
  engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 204 }));
  const letRetry = engine.holdRetries();
  const [delivery = ''] = await engine.publish(id);
  await eventually(async () => (await engine.delivery(delivery)).attempt_count === 1, 'the first record');
  let isQuiet = false;
  const quiet = engine.quiet(id).then(() => {
    isQuiet = true;
  });
  await eventually(
    () =>
      engine
        .workflow(delivery)
        .describe()
        .catch(() => undefined),
    'its workflow',
  );
  expect(isQuiet).toBe(false);
  letRetry();
  await quiet;
  expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered' });
});
