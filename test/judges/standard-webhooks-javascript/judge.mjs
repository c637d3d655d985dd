// The official library for JavaScript judges v1; @noble/curves judges v1a, which that library does not know.
import { ed25519 } from '@noble/curves/ed25519.js';
import { Webhook } from 'standardwebhooks';
import { captureDeliveries, judgeHere } from '../standard-webhooks.mjs';

export const judge = {
  name: 'Standard Webhooks, JavaScript',
  version: 'standardwebhooks 1.1.1',
  what: 'v1 as the others; v1a over a rotation and a revocation of the issuer key under load',
  needs: [],
  run: async ({ say }) => {
    const { lines, asymmetric } = await captureDeliveries(say);
    const bySecret = judgeHere(lines, (secret, { headers, body }) =>
      new Webhook(secret).verify(body, headers, { jsonParse: false }),
    );
    const byKey = judgeHere(asymmetric, (x, { headers, body }) => {
      const head = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`);
      const entries = headers['webhook-signature'].split(' ').filter((entry) => entry.startsWith('v1a,'));
      const signed = Buffer.concat([head, body]);
      const key = Buffer.from(x, 'base64url');
      if (!entries.some((entry) => ed25519.verify(Buffer.from(entry.slice(4), 'base64'), signed, key)))
        throw new Error('no matching signature');
    });
    return {
      passed: bySecret.passed + byKey.passed,
      failed: bySecret.failed + byKey.failed,
      warnings: ['v1a is judged by @noble/curves: the library knows v1 alone'],
    };
  },
};
