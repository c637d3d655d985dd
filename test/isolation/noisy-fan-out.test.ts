// A tenant with a thousand subscriptions beside a quiet one: whose rows lie in one statement, and who waits for whom.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../src/platform/context.ts';
import { newId } from '../../src/platform/database/ids.ts';
import { PublishingService } from '../../src/webhooks/intake/publishing.service.ts';
import { answer, ask } from '../authentication/challenges/answer.ts';
import { basic, createAccounts, requestTo } from '../authentication/tokens/accounts.ts';
import { createRooms, createTestAgent, createTestTenant } from '../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../setup/database.ts';

const test = await useTestDatabase();

/** The values of each statement that inserted events; those of the noisy tenant alone wait while there is a gate. */
let statements: string[] = [];
let gate: Promise<void> | undefined;
let noisy: RequestContext;
let quiet: RequestContext;
const query: typeof test.database.query = async (text, values = [], members) => {
  if (text.includes('INSERT INTO events')) {
    const sent = JSON.stringify(values);
    statements.push(sent);
    if (sent.includes(noisy.tenant.id) && !sent.includes(quiet.tenant.id)) await gate;
  }
  return test.database.query(text, values, members);
};
const database = { ...test.database, query };
const rooms = createRooms(database, { accounts: createAccounts(database) });
const publishing = new PublishingService({
  database,
  notifier: { poke: () => undefined },
  backlog: { check: () => undefined, add: () => undefined },
});

beforeAll(async () => {
  [noisy, quiet] = [await createTestTenant(rooms), await createTestTenant(rooms)];
  await test.database.query(
    `INSERT INTO subscriptions SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid()))).*
     FROM subscriptions s, generate_series(1, 999) AS n WHERE s.tenant_id = $1`,
    [noisy.tenant.id],
  );
});
beforeEach(async () => {
  // As another process reads it, or this one a second later.
  const { tenants } = createAccounts(database);
  const read = async ({ tenant, principal }: RequestContext) => {
    const found = await tenants.bySlug(tenant.slug);
    if (found === undefined) throw new Error('the tenant is not there');
    return { ...requestTo(found), principal };
  };
  [noisy, quiet] = [await read(noisy), await read(quiet)];
  statements = [];
  gate = undefined;
});

const event = (n: number) => ({
  path: 'body',
  type: 'org.created',
  data: { n },
  eventId: undefined,
  occurredAt: undefined,
});
const single = (context: RequestContext, n: number) => publishing.publish(context, [event(n)]);
const keyed = (context: RequestContext, n: number) =>
  publishing.publishOnce(context, event(n), {
    scope: { tenantId: context.tenant.id, principal: 'app', route: 'publishEvents', key: newId() },
    digest: Buffer.alloc(32),
  });
const array = (context: RequestContext, n: number) => publishing.publish(context, [event(n), event(-n)]);

/** As many logins of one agent, each with its challenge, ready to be sent. */
async function prepareLogins(context: RequestContext, count: number) {
  const agent = await createTestAgent(rooms, context);
  const challenges = Array.from({ length: count }, () => ask(rooms, context, agent.fingerprint));
  const inputs = (await Promise.all(challenges)).map((challenge) => answer(challenge, agent));
  statements = [];
  return inputs.map((input) => () => rooms.challenges.verify(context, input));
}

/** Statements with rows of both tenants. */
const shared = () =>
  statements.filter((sent) => [noisy, quiet].every(({ tenant }) => sent.includes(tenant.id)));

/** Sends what both tenants want, the noisy one first, while its statement hangs. */
async function sendWhileNoisyHangs(
  loud: (() => Promise<unknown>)[],
  others: (() => Promise<unknown>)[],
): Promise<void> {
  let open: () => void = () => undefined;
  gate = new Promise((resolve) => {
    open = resolve;
  });
  let ended = 0;
  const [first, ...more] = loud.map((send) => () => send().finally(() => (ended += 1)));
  const noise = [first?.()];
  await expect.poll(() => statements.length).toBe(1);
  noise.push(...more.map((send) => send()));
  await Promise.all(others.map((send) => send()));
  expect(ended).toBe(0);
  open();
  await Promise.all(noise);
}

describe('a tenant with a thousand subscriptions', () => {
  it('is known as one to each process, and so is one with few', () => {
    expect([noisy, quiet].map(({ tenant }) => tenant.fansOut)).toEqual([true, undefined]);
  });

  it.each([
    ['single events', single],
    ['events under keys', keyed],
    ['arrays', array],
  ])('shares no statement of %s, and nobody waits for its statements', async (_, publish) => {
    const of = (context: RequestContext) => Array.from({ length: 5 }, (__, n) => () => publish(context, n));
    await sendWhileNoisyHangs(of(noisy), of(quiet));
    expect(shared()).toEqual([]);
    const underWay = statements.filter((sent) => sent.includes(noisy.tenant.id));
    expect(underWay.length).toBeGreaterThanOrEqual(1);
  });

  it('has one statement under way of each kind', async () => {
    const arrays = Array.from({ length: 6 }, (_, n) => () => array(noisy, n));
    let atOnce = 0;
    await sendWhileNoisyHangs(arrays, [
      async () => {
        await array(quiet, 1);
        atOnce = statements.length - 1;
      },
    ]);
    expect([atOnce, statements.length]).toEqual([1, 7]);
  });

  it('shares none with the logins of others', async () => {
    const [loud, others] = [await prepareLogins(noisy, 3), await prepareLogins(quiet, 3)];
    await sendWhileNoisyHangs(loud, others);
    expect(shared()).toEqual([]);
    expect(statements.length).toBeGreaterThan(1);
  });

  it('shares none with the tokens of applications of others', async () => {
    const application = async (context: RequestContext) => {
      const made = await rooms.applications.create(context, {
        name: 'App',
        scopes: ['openid'],
      });
      const authorization = basic(made.application.id, made.clientSecret);
      const parameters = { grant_type: 'client_credentials', scope: 'openid' };
      return Array.from(
        { length: 3 },
        () => () => rooms.tokenEndpoint.requestToken(context, { authorization, parameters }),
      );
    };
    const [loud, others] = [await application(noisy), await application(quiet)];
    statements = [];
    await sendWhileNoisyHangs(loud, others);
    expect(shared()).toEqual([]);
    expect(statements.length).toBeGreaterThan(1);
  });
});
