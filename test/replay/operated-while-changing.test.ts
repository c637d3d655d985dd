// An operator's update and a reading of the entity that end in the same workflow task, in either order: recorded with
// the answers that the other histories hold.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { CompleteAsyncError, Context } from '@temporalio/activity';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTITY_CHANGED } from '../../src/platform/temporal/names.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { parseHistory, writeHistory } from './history-file.ts';
import { type RecordedWorkflows, startRecordedWorkflows } from './recorded-workflows.ts';

const FOLDER = new URL('./histories/', import.meta.url);
const ORDERS = ['read-first', 'update-first'] as const;

/** Of each type with updates for operators: what reads its entity, an update, and the activity that does the update. */
const CASES = [
  { type: 'agentKeyRotation', read: 'readKeyRotation', update: 'cancel', act: 'cancelKeyRotation' },
  { type: 'anchorVerification', read: 'readAnchor', update: 'lookNow', act: 'lookForProof' },
  { type: 'bulkReplay', read: 'replayDeliveries', update: 'cancel', act: 'cancelReplay' },
  { type: 'delegationExpiry', read: 'readDelegation', update: 'revoke', act: 'revokeDelegation' },
  { type: 'endpointRecovery', read: 'readEndpoint', update: 'hold', act: 'operateEndpoint' },
  { type: 'issuerKeyRotation', read: 'readIssuerKeys', update: 'rotate', act: 'rotateIssuerKeys' },
].flatMap((one) => ORDERS.map((order) => ({ ...one, order })));

type Case = (typeof CASES)[number];

const fileOf = ({ type, order }: Case) => {
  const name = type.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return new URL(`${name}.operated-while-changing-${order}.json`, FOLDER);
};

describe.runIf(process.env.RECORD_HISTORIES === '1')('recording', () => {
  /** The activities that do not end before the test ends them, by workflow and name. */
  const held = new Map<string, { token: Uint8Array; answer: unknown }>();
  const holding = new Set<string>();
  let workflows: RecordedWorkflows;
  beforeAll(async () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
    const histories = files.map((file) => parseHistory(readFileSync(new URL(file, FOLDER), 'utf8')));
    workflows = await startRecordedWorkflows(histories, (answer, workflowId) => {
      const { activityType, taskToken: token } = Context.current().info;
      const key = `${workflowId} ${activityType}`;
      if (!holding.has(key)) return answer;
      held.set(key, { token, answer });
      throw new CompleteAsyncError();
    });
  });
  afterAll(() => workflows?.close());

  it.each(CASES.filter((one) => !existsSync(fileOf(one))))('$type, $order', async (one) => {
    const { client, start, stopWorker, startWorker } = workflows;
    const { workflowId, run } = await start(one.type);
    const has = async (what: string) =>
      ((await run.fetchHistory()).events ?? []).some((event) => Object.keys(event).includes(what));
    await eventually(() => has('timerStartedEventAttributes'), 'it to wait');
    const keys = [one.read, one.act].map((name) => `${workflowId} ${name}`);
    for (const key of keys) holding.add(key);
    await run.signal(ENTITY_CHANGED);
    await eventually(() => held.has(`${workflowId} ${one.read}`), 'its reading to be under way');
    const args = one.update === 'hold' ? [600] : ['by hand'];
    const updated = run.executeUpdate(one.update, { args } as never);
    await eventually(() => held.has(`${workflowId} ${one.act}`), 'the update to be under way');
    await stopWorker();
    for (const key of one.order === 'read-first' ? keys : keys.toReversed()) {
      const { token, answer } = held.get(key) ?? expect.fail(key);
      holding.delete(key);
      await client.activity.complete(token, answer);
    }
    await startWorker();
    await updated;
    await eventually(async () => {
      const { doing } = (await run.query<{ doing: string }>('state')) ?? {};
      return doing !== 'reading';
    }, 'it to have read its entity');
    writeHistory(fileOf(one), await run.fetchHistory());
  });
});

it('has a history of each case', () => {
  expect(CASES.filter((one) => !existsSync(fileOf(one)))).toEqual([]);
});
