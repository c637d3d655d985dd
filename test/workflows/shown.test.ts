// What operators read of a delivery in the Temporal UI: the cause and the time of its wait, its attempts, what they can
// do.
import { afterAll, expect, it } from 'vitest';
import { createEngine, eventually } from './delivery-engine.ts';

const HOUR = 3_600_000;
const engine = await createEngine();
await engine.startProcess();
afterAll(() => engine.close());

async function detailsOf(delivery: string): Promise<string> {
  const handle = engine.workflow(delivery);
  return (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
}

async function summariesOf(delivery: string): Promise<string[]> {
  const { events } = await engine.workflow(delivery).fetchHistory();
  return (events ?? []).flatMap(({ userMetadata }) => {
    const data = userMetadata?.summary?.data;
    return data ? [JSON.parse(Buffer.from(data).toString()) as string] : [];
  });
}

it('says of a wait which attempt comes when and after what, and of each attempt what it came after', async () => {
  const { id, path } = await engine.subscribe({ delaysMs: [1, HOUR] });
  engine.receiver.answer(path, () => ({ status: 500 }));
  const [delivery = ''] = await engine.publish(id);
  await eventually(async () => (await engine.delivery(delivery)).attempt_count === 2, 'two attempts');
  const summaries = await eventually(async () => {
    const found = await summariesOf(delivery);
    return found.some((text) => text.startsWith('attempt 3 at')) && found;
  }, 'the timer');
  expect(summaries).toContain('attempt 2 · after http:500');
  expect(summaries.at(-1)).toMatch(/^attempt 3 at [-\d: ]+ · after http:500$/);
  const details = await detailsOf(delivery);
  const [state, help, table] = details.split('\n\n');
  expect(state).toMatch(/^\*\*Waits\*\*: attempt 3 is due at [-\d: ]+ UTC · after http:500\.$/);
  expect(help).toContain('Update `retry`');
  expect(help).toContain('docs/operations/webhook-delivery.md');
  expect(table?.split('\n').slice(0, 2)).toEqual(['| attempt | ended (UTC) | outcome |', '|---|---|---|']);
  const rows = table?.split('\n').slice(2);
  expect(rows?.[0]).toMatch(/^\| 2 \| [-\d: ]+ \| http:500 \|$/);
  expect(rows?.map((row) => row.split(' ')[1])).toEqual(['2', '1']);
  await engine.workflow(delivery).executeUpdate('cancel');
  await engine.workflow(delivery).result();
  const ended = await detailsOf(delivery);
  expect(ended).toMatch(/^\*\*Ended\*\*: canceled/);
  expect(ended).not.toContain('Update');
  expect(ended.split('\n\n')[1]).toContain(`countersign operator delivery retry ${delivery}`);
});

it('says of an endpoint that is held by whom it is, since a pause and an operator need different acts', async () => {
  engine.startRunner();
  const { id, path } = await engine.subscribe();
  engine.receiver.answer(path, () => ({ status: 429, headers: { 'retry-after': '900' } }));
  await engine.publish(id);
  const details = await eventually(async () => {
    // The workflow begins a moment after the answer.
    const found = await engine
      .entity('endpointRecovery', id)
      .query<{ currentDetails: string }>('__temporal_workflow_metadata')
      .catch(() => undefined);
    return found?.currentDetails.includes('**held**') && found.currentDetails;
  }, 'the details of the endpoint');
  expect(details).toContain('It has asked for a pause (`Retry-After`)');
  expect(details).not.toContain('An operator');
});
