// Issuer keys over a year of virtual time: each wait is jumped over, so that the real workflow, its activities and the
// database live through every day of it.
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, expect, it } from 'vitest';
import { readAudit } from '../identity/agents/agent-rooms.ts';
import { eventually } from './delivery-engine.ts';
import { createIssuerKeyEngine } from './issuer-key-engine.ts';
import { readClock } from './virtual-clock.ts';

const DAY = 86_400_000;
const LIFETIME_DAYS = 30;
const DAYS = 365;

const engine = await createIssuerKeyEngine({ virtual: true, lifetime: LIFETIME_DAYS * 86_400 });
const context = await engine.newTenant();
afterAll(() => engine.close());

it('rotate every thirty days for a year, with always one that signs, and are two or three', async () => {
  const { tenant } = context;
  const begun = (await readClock(engine.database)).getTime();
  const stops = [engine.startRunner(), await engine.startWorker()];
  const signers = new Set<string>();
  let most = 0;
  const elapsed = async () => (await readClock(engine.database)).getTime() - begun;
  await eventually(
    async () => {
      // A JWKS is fetched after its token was signed, and virtual time runs meanwhile: by days, not by a key's time
      // after it has retired.
      const token = await engine.accounts.issuer.sign(tenant, { a: 1 }, { typ: 'JWT' });
      engine.accounts.issuer.forget(tenant.id);
      const keys = (await engine.accounts.issuer.jwks(tenant)) as JSONWebKeySet;
      most = Math.max(most, keys.keys.length);
      const { kid = '' } = (
        await jwtVerify(token, createLocalJWKSet(keys)).catch(() => ({ protectedHeader: { kid: '' } }))
      ).protectedHeader;
      signers.add(kid);
      return (await elapsed()) >= DAYS * DAY;
    },
    'a year',
    300_000,
  );
  engine.halt();
  signers.delete('');
  await engine.stands(tenant.id, ({ next }) => next !== null, 'its rest');
  const days = (await elapsed()) / DAY;

  const actions = (await readAudit(engine.database, tenant.id)).map(({ action }) => action);
  const count = (action: string) => actions.filter((one) => one === `issuer.key.${action}`).length;
  const rotations = Math.floor(days / LIFETIME_DAYS);
  expect(rotations).toBeGreaterThanOrEqual(12);
  // At most a day late each, which adds up; the first key and the next one are published besides.
  expect(count('retired')).toBeGreaterThanOrEqual(rotations - 1);
  expect(count('retired')).toBeLessThanOrEqual(rotations);
  expect(count('published')).toBe(count('retired') + 2);
  expect(count('removed')).toBeGreaterThanOrEqual(count('retired') - 1);
  expect(most).toBeLessThanOrEqual(3);
  expect(signers.size).toBeGreaterThanOrEqual(5);

  const { keys } = await engine.accounts.issuerKeys.read(context);
  expect(keys.length).toBeLessThanOrEqual(3);
  const lengths: number[] = [];
  for await (const run of engine.client.workflow.list({ query: `WorkflowId="issuer-keys/${tenant.id}"` }))
    lengths.push(run.historyLength);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(1_000);
  expect(lengths.length).toBeGreaterThan(1);
  for (const stop of stops) await stop();
});
