// No secret of a whole walk is in a log, a trace, Temporal, a metric, an error or a row; and a planted leak is found.
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { eventually, installRuntimeOnce } from '../workflows/delivery-engine.ts';
import { type ScriptedReceiver, startScriptedReceiver } from '../workflows/scripted-receiver.ts';
import { askEverywhere, liveAsAgent, liveAsApplication, obtainToken, receiveEvents } from './good-paths.ts';
import { readRows, readTemporal } from './places.ts';
import { type Processes, startProcesses } from './processes.ts';
import { createSecrets } from './secrets.ts';
import { createWalker, failEverywhere, listOperations, type Walker } from './walk.ts';

const secrets = createSecrets();
let receiver: ScriptedReceiver;
let processes: Processes;
let walker: Walker;
let connection: Connection;
beforeAll(async () => {
  installRuntimeOnce();
  receiver = await startScriptedReceiver();
  processes = await startProcesses(secrets);
  connection = await Connection.connect({ address: inject('temporalAddress') });
  walker = createWalker(processes, secrets);
});
afterAll(async () => {
  await processes?.stop();
  await processes?.close();
  await connection?.close();
  await receiver?.close();
});

/**
 * Rows keep what a client writes into a name, and idempotency keys with their answers. Neither is a credential where it
 * belongs, and neither goes anywhere else.
 */
const KEPT = ['idempotency key', 'secret in the wrong place'];

const findLeaks = (places: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(places).map(([place, text]) => [
      place,
      secrets.findIn(text, place === 'rows' ? KEPT : []),
    ]),
  );

it('walks through every operation, each with a failing path', async () => {
  const first = await obtainToken(walker, processes.tenant);
  const agent = await liveAsAgent(walker, processes, first);
  const { webhook, delivery } = await receiveEvents(walker, first, receiver);
  const application = await liveAsApplication(walker, first, [agent.accessToken, first, agent.refreshToken]);
  const token = await obtainToken(walker, processes.tenant);
  await failEverywhere(walker, token);
  const ids: Record<string, string> = {
    agent_id: agent.agent,
    key_id: agent.keyId,
    client_id: application,
    delivery_id: delivery,
  };
  for (const { path } of listOperations())
    ids[`${path} id`] = path.includes('/webhooks') ? webhook : path.includes('/agents') ? agent.agent : '';
  await askEverywhere(walker, token, ids);
  await processes.command(['doctor'], {
    DATABASE_URL: `postgres://u:${secrets.plant('database password')}@127.0.0.1:1/x`,
  });
  await processes.command(['doctor'], { MASTER_KEY: secrets.plant('master key') });
  for (const { id } of listOperations().filter(({ path }) => !/healthz|readyz|openapi|well-known/.test(path)))
    expect([...walker.refused.keys()], 'operations with a failing path').toContain(id);
  expect(walker.succeeded.size, 'operations with a good path').toBeGreaterThanOrEqual(50);
});

it('finds none of its secrets in what the service writes', async () => {
  const metrics = await processes.metrics();
  const temporal = await readTemporal(createTemporalClient(connection, processes));
  await processes.stop();
  const places = {
    logs: processes.logs(),
    traces: processes.traces(),
    temporal: temporal.join('\n'),
    metrics,
    errors: walker.errors.join('\n'),
    rows: [...(await readRows(processes.database)).values()].join('\n'),
  };
  const sizes = Object.fromEntries(Object.entries(places).map(([place, text]) => [place, text.length]));
  expect(findLeaks(places)).toEqual({
    logs: [],
    traces: [],
    temporal: [],
    metrics: [],
    errors: [],
    rows: [],
  });
  // What was searched, so that an empty place is not taken for a clean one.
  for (const [place, size] of Object.entries(sizes)) expect(size, place).toBeGreaterThan(5_000);
  expect(temporal.length).toBeGreaterThanOrEqual(3);
  expect(places.logs).toContain('"level":"debug"');
  if (process.env.SHOW_REDACTION !== undefined)
    process.stdout.write(
      `${JSON.stringify({ secrets: secrets.count(), sizes, workflows: temporal.length, errors: walker.errors.length, succeeded: walker.succeeded.size, refused: walker.refused.size })}\n`,
    );
});

it('finds a leak that is planted, in each form', async () => {
  const secret = secrets.plant('planted leak');
  const inBase64 = Buffer.from(`x${secret}/é`);
  expect(secrets.findIn(`a ${secret} b`)).toContain('planted leak in plain');
  expect(secrets.findIn(inBase64.toString('base64'))).toEqual([
    'planted leak in base64',
    'planted leak in base64url',
  ]);
  expect(secrets.findIn(inBase64.toString('hex'))).toEqual(['planted leak in hex']);
  const client = createTemporalClient(connection, processes);
  const memo = { note: `a ${secret}` };
  await client.workflow.start('unknown', {
    taskQueue: 'nobody',
    workflowId: 'leak',
    memo,
    args: [{ secret }],
  });
  await eventually(
    async () =>
      secrets
        .findIn((await readTemporal(createTemporalClient(connection, processes))).join('\n'))
        .includes('planted leak in plain'),
    'the leak',
  );
});
