// What readers do while things fail: one follows the feed from its beginning, and applications revoke their tokens. In
// the end the feed has shown every accepted event once, and no revoked token is taken.
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from './random.mjs';

/** A route that reads no rows: what a process knows of ended tokens decides. */
const ANY = '/api/v1/event-types';

export function createReadLoad({ client, ledger, seed, pace, part = '' }) {
  let stopped = false;
  const goesOn = () => !stopped;
  /**
   * The last follower is the one that is judged: after a restore from a copy the cursors of before mean nothing. After one
   * to a minute they go on.
   */
  const follower = ledger.restoredAt > 0 ? ledger.follower : { cursor: undefined, shown: new Map() };
  ledger.follower = follower;

  const readOn = async (random) => {
    for (; goesOn(); await sleep(random.between(0.5, 2) * pace)) await readPage(client, follower);
  };

  const revokeOn = async (random) => {
    for (; goesOn(); await sleep(random.between(300, 1_200))) {
      const { status, body } = await client.authorize();
      if (status !== 200) continue;
      const form = { token: body.access_token };
      const answer = await client.persist('POST', '/oauth/revoke', { as: client.basic, form }, goesOn);
      if (answer.status === 200) ledger.revoked.push({ token: body.access_token, at: answer.answered });
    }
  };

  return {
    open: async () => undefined,
    run: () => {
      const own = (name) => createRandom(seed, `${name}${part}`);
      return Promise.all([readOn(own('feed')), revokeOn(own('revocation'))]);
    },
    stop: () => {
      stopped = true;
    },
  };
}

/** @returns whether there is more */
async function readPage(client, follower) {
  const after = follower.cursor === undefined ? '' : `&after=${follower.cursor}`;
  const { status, body } = await client.ask('GET', `/api/v1/events?limit=200&type=load.*${after}`);
  if (status !== 200) return true;
  follower.cursor = body.next_cursor;
  for (const { event_id: id, data } of body.data)
    follower.shown.set(id, { marker: data.marker, times: (follower.shown.get(id)?.times ?? 0) + 1 });
  return body.has_more;
}

/** When everything has ended: the follower reads on to the end, and each api refuses each revoked token. */
export async function checkReads({ stack, ledger, client }) {
  const { follower } = ledger;
  while (await readPage(client, follower)) await sleep(50);
  for (const [id, { marker, times }] of follower.shown)
    if (times > 1) ledger.violate('feed', `event ${id} (${marker}) is in it ${times} times`);
  const markers = new Set([...follower.shown.values()].map(({ marker }) => marker));
  for (const { marker, outcome, how } of ledger.publications.values())
    if (outcome === 'accepted' && !markers.has(marker))
      ledger.violate('feed', `${marker} (${how}) was accepted, and its reader has missed it`);
  for (const { token } of ledger.revoked)
    for (const api of stack.apis) {
      const { status } = await client.persist('GET', ANY, { as: `Bearer ${token}`, api });
      if (status !== 401)
        ledger.violate('revocation lost', `a revoked token gave ${status} at ${api.origin}`);
    }
}
