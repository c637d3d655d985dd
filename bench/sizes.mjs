// What grows with an installation: the same figures on one stack that is filled step by step, each beside the floors in
// the same minutes.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { compareDeliveries, measureWindow, serviceOf, summarize } from './deliveries.mjs';
import { openDeliveryStack } from './delivery-stack.mjs';
import { fillAsleep, fillHistory, measureBytes } from './fill-deliveries.mjs';
import { fillSubscriptions, fillTenants } from './fill-tenants.mjs';
import { startParts } from './parts.mjs';
import { compareTargets } from './requests.mjs';

const TENANTS = 10_000;
const SUBSCRIPTIONS = 1_000;
const say = (line) => process.stderr.write(`${line}\n`);

/**
 * @param options.deliveries of 30 days, `asleep` in their retries, `workflows` of those that have one
 * @returns `sizes`: title and figures of each; `spread`: tokens of all tenants in turn; `bytes` on disk a delivery
 */
export async function measureSizes(options) {
  const stack = await openDeliveryStack(options);
  const database = new pg.Client({ connectionString: stack.databaseUrl });
  try {
    await database.connect();
    const parts = await startParts(stack, options);
    const subscriptionId = (await database.query('SELECT id FROM subscriptions')).rows[0].id;
    const sizes = [];
    const measure = async (title) => {
      const figures = await measureSize(stack, parts, { ...options, isWarm: sizes.length > 0 });
      say(`${title}: ${JSON.stringify(figures)}`);
      sizes.push({ title, ...figures });
    };
    await measure('small');
    const clients = await fillTenants(database, { count: TENANTS, environment: stack.environment });
    await measure(`${TENANTS} tenants`);
    const spread = await compareTargets(
      stack,
      spreadOver(clients, parts),
      requestsOf({ ...options, isWarm: true }),
    );
    await fillSubscriptions(database, { tenantId: stack.tenant.id, count: SUBSCRIPTIONS });
    await measure(`${SUBSCRIPTIONS} subscriptions`);
    await fillHistory(database, { subscriptionId, count: options.deliveries, say });
    const bytes = await measureBytes(database);
    await measure(`${options.deliveries} deliveries`);
    await fillAsleep(database, { subscriptionId, count: options.asleep, workflows: options.workflows });
    await startedWorkflows(database);
    await measure(`${options.asleep} asleep`);
    return { sizes, spread, bytes };
  } finally {
    await database.end();
    await stack.close();
  }
}

const requestsOf = ({ connections, isWarm }) => ({
  scenario: 'tokens',
  connections,
  isWarm,
  seconds: 3,
  rounds: 2,
});

/** Each token is of another tenant; the tenants share a secret. */
function spreadOver(clients, { floor, service }) {
  const [, secret] = Buffer.from(service.inputs.authorization.slice(6), 'base64').toString().split(':');
  const basic = (id) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
  const inputs = {
    ...service.inputs,
    clients: clients.map(({ path, clientId }) => ({ path, authorization: basic(clientId) })),
  };
  return { floor, service: { ...service, inputs } };
}

async function measureSize(stack, { receiver, deliveryFloor, floor, service }, options) {
  const load = { ...options, seconds: 3, rounds: 2, count: undefined };
  const deliveries = await compareDeliveries(stack, { floor: deliveryFloor, receiver }, load);
  const even = await measureWindow(stack, serviceOf(stack), receiver, { ...load, rate: 50, seconds: 10 });
  // Last: the audit rows of the tokens are sealed afterwards.
  const tokens = await compareTargets(stack, { floor, service }, requestsOf(options));
  return { tokens, deliveries, even: summarize([even]) };
}

/** Waits until the relay has started the workflows of the sleeping deliveries. */
async function startedWorkflows(database) {
  for (;;) {
    const { rows } = await database.query(`SELECT count(*)::int AS waiting FROM outbox WHERE kind = 'start'`);
    if (rows[0].waiting === 0) return;
    say(`${rows[0].waiting} workflows to start`);
    await sleep(5_000);
  }
}
