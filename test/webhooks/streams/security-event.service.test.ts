// When a polled security event token is signed again.
import { expect, it } from 'vitest';
import { SecurityEventService } from '../../../src/webhooks/streams/security-event.service.ts';

const TENANT = { id: 't', issuerUrl: 'https://issuer.example' };
const BODY = {
  event_id: 'e',
  type: 'admin.agent.suspended',
  occurred_at: '2026-01-01T00:00:00Z',
  data: { agent_id: 'a' },
};

function start() {
  const state = { tenant: { ...TENANT }, kid: 'one', isBroken: false, signed: 0 };
  const service = new SecurityEventService({
    tenants: { byId: async () => state.tenant as never },
    signer: {
      signingKeyId: async () => state.kid,
      sign: async () => {
        if (state.isBroken) throw new Error('no key');
        state.signed += 1;
        return `${state.kid} ${state.signed}`;
      },
    },
  });
  const compose = (deliveryId = 'd') =>
    service.composeOnce({
      tenantId: 't',
      streamId: 's',
      audience: 'c',
      deliveryId,
      body: Buffer.from(JSON.stringify(BODY)),
      at: 0,
    });
  return { state, compose };
}

it('a polled token is signed once for each key, and for each address of the issuer', async () => {
  const { state, compose } = start();
  expect(await Promise.all([compose(), compose(), compose('other')])).toEqual(['one 1', 'one 1', 'one 2']);
  expect(await compose()).toBe('one 1');
  state.kid = 'two';
  expect(await compose()).toBe('two 3');
  state.tenant.issuerUrl = 'https://moved.example';
  expect(await compose()).toBe('two 4');
});

it('a failed signature is not kept', async () => {
  const { state, compose } = start();
  state.isBroken = true;
  await expect(compose()).rejects.toThrow('no key');
  state.isBroken = false;
  expect(await compose()).toBe('one 1');
});
