// The official library for JavaScript judges v1; @noble/curves judges v1a, which that library does not know.
import { ed25519 } from '@noble/curves/ed25519.js';
import { Webhook } from 'standardwebhooks';
import { captureDeliveries, judgeHere } from '../standard-webhooks.mjs';

export const judge = {
  name: 'Standard Webhooks, JavaScript',
  version: 'standardwebhooks 1.1.1',
  needs: [],
  run: async ({ say }) => {
    const { lines, keys } = await captureDeliveries(say);
    const bySecret = judgeHere(lines, (secret, { headers, body }) =>
      new Webhook(secret).verify(body, headers, { jsonParse: false }),
    );
    const publicKeys = keys.map(({ x }) => x);
    // Another secret changes nothing here; another body does.
    const asymmetric = lines
      .filter(({ mode, secrets }) => mode !== 'none' || secrets.length === 2)
      .map((line) => ({ ...line, mode: line.mode === 'none' ? 'none' : 'any', secrets: publicKeys }))
      .filter(({ mode, body }) => mode !== 'none' || !isJson(body));
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

function isJson(body) {
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}
