// Twenty tasks of a developer who has nothing but the address of a tenant: each is answered by a page that is at most
// two clicks from /docs.
import { afterAll, expect, it } from 'vitest';
import { serveReference } from './built-reference.ts';

const { server, close } = await serveReference();
afterAll(close);

const read = async (path: string) => (await server.fetch(path, { headers: { accept: 'text/html' } })).text();

/** What a reader sees: no marks, and one space between words. */
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll(/&#(?:39|x27);/g, "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');

/** Follows the first link with these words. */
async function click(path: string, words: string): Promise<string> {
  const links = [...(await read(path)).matchAll(/<a [^>]*href="([^"]+)"[^>]*>([\s\S]*?)<\/a>/g)];
  const found = links.find(([, , text = '']) => textOf(text).trim() === words);
  expect(found, `${words} on ${path}`).toBeDefined();
  return new URL(found?.[1] ?? '', `https://id.example${path}`).pathname;
}

it.each<[task: string, clicks: string[], answer: string[]]>([
  [
    'verify the signature of a delivery by hand',
    ['Receive deliveries'],
    ['six values joined by line feeds', 'suite, timestamp, max-age, delivery id, event type'],
  ],
  [
    'verify a delivery with a library of Standard Webhooks',
    ['Receive deliveries'],
    ['new Webhook(process.env.WEBHOOK_SECRET)'],
  ],
  [
    'answer so that a delivery comes again later',
    ['Receive deliveries'],
    ['After any other answer, or none, the delivery comes again', 'Retry-After'],
  ],
  [
    'rotate the secret of a subscription without a lost delivery',
    ['Receive deliveries'],
    ['two signatures', 'secrets: [old, new]'],
  ],
  ['receive deliveries in a Lambda function', ['Receivers by platform'], ['AWS Lambda']],
  [
    'subscribe a URL to types of events',
    ['Webhooks', 'Create a subscription'],
    ['POST /api/v1/webhooks', 'event_types'],
  ],
  ['send a failed delivery again', ['Webhooks'], ['/retry']],
  [
    'publish an event of my own',
    ['Publish and read events'],
    ['/api/v1/events', 'the scope is events:write'],
  ],
  [
    'try a receiver on my own machine',
    ['Command line'],
    ['countersign listen', 'countersign verify-receiver'],
  ],
  ['register the key of an agent', ['Log an agent in'], ['SERVICE-KEY-PROOF-V1', 'enrollment-tokens']],
  [
    'sign a challenge',
    ['Log an agent in'],
    ['nine lines, joined by line feeds, with nothing after the last', 'SERVICE-CHALLENGE-V1'],
  ],
  ['code a signature of es256', ['Log an agent in'], ['r‖s', 'DER, as OpenSSL']],
  ['renew a token', ['Log an agent in'], ['grant_type=refresh_token', 'good for one use']],
  ['replace the key of an agent that runs', ["Rotate an agent's key"], ['overlap', 'waiting_for_switch']],
  [
    'log a job of GitHub Actions in',
    ['Workloads'],
    ['token.actions.githubusercontent.com', 'id-token: write'],
  ],
  [
    'let an agent act for a user',
    ['Act for a user'],
    ['urn:ietf:params:oauth:grant-type:token-exchange', 'delegated_subject'],
  ],
  [
    'validate a token in my API',
    ['Guard an API'],
    ['createGuard({ issuer', 'is, or contains, your audience'],
  ],
  [
    'know what an error means and whether to repeat the request',
    ['Errors'],
    ['invalid_grant', 'May be repeated'],
  ],
  ['know how many requests I have', ['Limits'], ['RateLimit', 'a minute']],
  ['learn who knows that an agent is suspended', ['Shared signals'], ['receipt', 'acknowledged']],
])('%s', async (_, clicks, answer) => {
  expect(clicks.length).toBeLessThanOrEqual(2);
  let path = '/docs';
  for (const words of clicks) path = await click(path, words);
  const text = textOf(await read(path));
  expect(answer.filter((words) => !text.includes(words))).toEqual([]);
});
