// What clients do meanwhile, at a fixed rate whatever the answers: they ask for tokens and publish events, through the
// gateway. Each request and each event that was accepted is kept.
import { Agent, request } from 'node:http';

const PATIENCE = 20_000;
const TYPE = 'deployment.order.placed';

/**
 * @param {{ origin: string, host: string, tenant: { slug: string, client_id: string, client_secret: string } }} needs
 */
export function createClient({ origin, host, tenant }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 128 });
  const basic = `Basic ${Buffer.from(`${tenant.client_id}:${tenant.client_secret}`).toString('base64')}`;
  let bearer = '';

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ headers?: Record<string, string>, body?: string }} [content]
   * @returns {Promise<{ status: number, error?: string, retryAfter?: string, body: any, at: number, ms: number }>}
   *   status 0: no answer
   */
  const ask = (method, path, { headers = {}, body } = {}) =>
    new Promise((resolve) => {
      const at = Date.now();
      const finish = (status, text, more = {}) =>
        resolve({ status, body: parsed(text), at, ms: Date.now() - at, ...more });
      const options = { method, agent, headers: { host, ...headers }, signal: AbortSignal.timeout(PATIENCE) };
      const sent = request(`${origin}${path}`, options, (answer) => {
        let text = '';
        answer
          .setEncoding('utf8')
          .on('data', (chunk) => {
            text += chunk;
          })
          .on('end', () => finish(answer.statusCode, text, { retryAfter: answer.headers['retry-after'] }))
          .on('error', (error) => finish(0, '', { error: error.message }));
      });
      sent.on('error', (error) => finish(0, '', { error: error.message }));
      sent.end(body);
    });
  const below = `/t/${tenant.slug}`;
  const json = (body) => ({
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    ask,
    askToken: async () => {
      const answer = await ask('POST', `${below}/oauth/token`, {
        headers: { authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials',
      });
      if (answer.status === 200) bearer = answer.body.access_token;
      return answer;
    },
    publish: (n, type = TYPE) => ask('POST', `${below}/api/v1/events`, json({ type, data: { n } })),
    subscribe: (url, type = TYPE) =>
      ask('POST', `${below}/api/v1/webhooks`, json({ url, event_types: [type] })),
    readFeed: (cursor) =>
      ask('GET', `${below}/api/v1/events${cursor === undefined ? '' : `?after=${cursor}`}`, json(undefined)),
    readSubscription: (id) => ask('GET', `${below}/api/v1/webhooks/${id}`, json(undefined)),
    close: () => agent.destroy(),
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Begins requests at a rate; an answer that is late delays no other.
 * @param {{ client: ReturnType<typeof createClient>, tokens: number, publications: number }} needs a second
 */
export function startLoad({ client, tokens, publications }) {
  const asked = [];
  const accepted = new Map();
  const underWay = new Set();
  let n = 0;
  const begin = (kind, work) => {
    const running = work().then((answer) => {
      const { status, error, retryAfter, at, ms } = answer;
      asked.push({ kind, status, error, retryAfter, at, ms, isRefused: status < 200 || status > 299 });
      underWay.delete(running);
      return answer;
    });
    underWay.add(running);
    return running;
  };
  const began = Date.now();
  /** As many as are due: a timer that comes late is made up for. */
  const repeat = (rate, work) => {
    let done = 0;
    return setInterval(() => {
      for (; done < ((Date.now() - began) * rate) / 1_000; done += 1) void work();
    }, 1_000 / rate);
  };
  const timers = [
    repeat(tokens, () => begin('token', client.askToken)),
    repeat(publications, async () => {
      n += 1;
      const mine = n;
      const { status, at } = await begin('publication', () => client.publish(mine));
      if (status === 201 || status === 202) accepted.set(mine, at);
    }),
  ];
  return {
    began,
    asked,
    accepted,
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}
