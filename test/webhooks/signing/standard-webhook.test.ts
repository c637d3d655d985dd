// The second set of signatures, judged by the official library of Standard Webhooks.
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { newSigningSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';
import { signStandardWebhook } from '../../../src/webhooks/signing/standard-webhook.node.ts';

const now = () => Math.floor(Date.now() / 1_000);
const sign = (body: string, secrets: { current: string; next?: string }, timestamp = now()) =>
  signStandardWebhook({
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    timestamp,
    body: Buffer.from(body),
    secrets,
  });

describe('a delivery', () => {
  it('has the signature of the example in the specification', () => {
    const headers = signStandardWebhook({
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1_614_265_330,
      body: Buffer.from('{"test": 2432232314}'),
      secrets: { current: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
    });
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('is verified with each generated secret', () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        const secret = newSigningSecret();
        expect(new Webhook(secret).verify(body, sign(body, { current: secret }))).toEqual(JSON.parse(body));
      }),
    );
  });

  it.each([
    ['without the prefix', 'a secret that its owner has chosen, 32 bytes or more'],
    ['with the prefix and no base64 behind it', 'whsec_a-secret-that-its-owner-has-chosen-32-bytes'],
    ['that is the prefix alone', 'whsec_'],
  ])('is verified with the text of a secret %s', (_, secret) => {
    expect(new Webhook(secret, { format: 'raw' }).verify('{}', sign('{}', { current: secret }))).toEqual({});
  });

  it('is verified with a chosen secret that has the form of a generated one, given as such', () => {
    const secret = `whsec_${Buffer.from('a secret that its owner has chosen').toString('base64')}`;
    const headers = sign('{}', { current: secret });
    expect(new Webhook(secret).verify('{}', headers)).toEqual({});
    expect(() => new Webhook(secret, { format: 'raw' }).verify('{}', headers)).toThrow('No matching');
  });

  it('is verified with the old and with the new secret during a rotation', () => {
    const [current, next] = [newSigningSecret(), newSigningSecret()];
    const headers = sign('{}', { current, next });
    for (const secret of [current, next]) expect(new Webhook(secret).verify('{}', headers)).toEqual({});
    expect(() => new Webhook(newSigningSecret()).verify('{}', headers)).toThrow('No matching signature');
  });

  it('is refused when it is another body, id or time', () => {
    const secret = newSigningSecret();
    const headers = sign('{"a":1}', { current: secret });
    const judge = new Webhook(secret);
    expect(() => judge.verify('{"a":2}', headers)).toThrow('No matching signature');
    expect(() => judge.verify('{"a":1}', { ...headers, 'webhook-id': 'another' })).toThrow('No matching');
    expect(() => judge.verify('{"a":1}', sign('{"a":1}', { current: secret }, now() - 400))).toThrow(
      'too old',
    );
  });
});
