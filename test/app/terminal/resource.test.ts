// The commands of each resource against the whole interface: rows by name and by part of an id, acts, JSON.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { listRows } from '../../../src/app/terminal/resource-rows.client.ts';
import { eventually } from '../../workflows/eventually.ts';
import { startService } from './service.ts';

const URL = 'http://127.0.0.1:9099/hooks';

const service = await startService();
const post = async (path: string, body: unknown) => (await service.owner.send('POST', path, body)).body;
const agent = await post('/api/v1/agents', { name: 'invoice robot', scopes: ['openid'] });
await post('/api/v1/agents', { name: 'other robot', scopes: ['openid'] });
const webhook = await post('/api/v1/webhooks', { url: URL, event_types: ['shop.sold'], active: false });
const event = await post('/api/v1/events', { type: 'shop.sold', data: { n: 1 } });
const {
  data: [delivery],
} = (await service.owner.send('GET', '/api/v1/deliveries')).body;
afterAll(() => service.close());

const json = async (...args: string[]) => {
  const { lines, code, told } = await service.run([...args, '--json']);
  expect([code, told, lines.length]).toEqual([0, [], 1]);
  return JSON.parse(lines[0] ?? '');
};

describe('user forget', () => {
  it('forgets a user, and finds nobody of the name afterwards', async () => {
    const subject = { issuer: 'https://idp.example', sub: 'ada' };
    const [agent_id, expires_at] = [agent.id, new Date(Date.now() + 3_600_000).toISOString()];
    const body = { subject, agent_id, scopes: ['openid'], expires_at };
    const { id } = (await service.owner.send('POST', '/api/v1/delegations', body)).body.subject;
    const asked = ['user', 'forget', '--issuer', subject.issuer, '--sub', subject.sub];
    expect((await service.run(asked)).lines).toEqual([`User ${id} is forgotten; delegations revoked: 1.`]);
    expect((await service.run(asked)).lines).toEqual(['Nobody of this name is known.']);
    expect(await json(...asked)).toEqual({ forgotten: false, user_id: null, revoked_delegations: 0 });
  });
});

describe('list', () => {
  it('is a table for people', async () => {
    const { lines } = await service.run(['agent', 'list']);
    expect(lines[0]).toMatch(/^ID +NAME +STATUS +SCOPES +CREATED$/);
    expect(lines.slice(1).map((line) => line.split(/ {2,}/)[1])).toEqual(['other robot', 'invoice robot']);
  });

  it('is an array for scripts, with the filters of the interface', async () => {
    expect(await json('agent', 'list', '--name', 'invoice robot')).toEqual([
      expect.objectContaining({ id: agent.id }),
    ]);
    expect(await json('delivery', 'list', '--status', 'delivered', '--since', '1h')).toEqual([]);
    expect(await json('event', 'list', '--type', 'shop.*')).toEqual([
      expect.objectContaining({ event_id: event.event_id }),
    ]);
    expect(await json('audit', 'list', '--action', 'agent.created', '--limit', '1')).toHaveLength(1);
  });

  it('shows the newest events, and asks for one page of them', async () => {
    for (const id of ['older', 'newer', 'newest'])
      await service.owner.send('POST', '/api/v1/events', { type: 'shop.seen', data: {}, event_id: id });
    const rows = await json('event', 'list', '--type', 'shop.seen', '--limit', '2');
    expect(rows.map((row: { event_id: string }) => row.event_id)).toEqual(['newest', 'newer']);
    const asked: string[] = [];
    const call = async (_: string, path: string) => {
      asked.push(path);
      return { data: [{ event_id: 'e' }], has_more: true, next_cursor: 'c' };
    };
    await listRows({ call }, '/api/v1/events', { limit: 1 }, { isFeed: true });
    expect(asked).toEqual(['/api/v1/events?order=desc&limit=1']);
  });

  it('goes on to the next page', async () => {
    for (let n = 0; n < 3; n += 1)
      await service.owner.send('POST', '/api/v1/agents', { name: `many ${n}`, scopes: ['openid'] });
    expect((await json('agent', 'list', '--limit', '201')).length).toBeGreaterThanOrEqual(5);
  });

  it('says so when there is nothing, beside stdout', async () => {
    const { lines, told, code } = await service.run(['delivery', 'list', '--status', 'failed']);
    expect([lines, told, code]).toEqual([[], ['There is none.'], 0]);
  });

  it.each([
    [['agent', 'list', '--status', 'sleeping'], 'status'],
    [['agent', 'list', '--limit', '0'], '--limit: must be 1 to'],
    [['delivery', 'list', '--since', 'noon'], '--since: must be a duration'],
    [['key', 'list'], "required option '--agent <id>'"],
    [['webhook', 'lst'], '(Did you mean list?)'],
  ])('refuses %j', async (args, words) => {
    const { told, code } = await service.run(args);
    expect([code, told.join('\n')]).toEqual([expect.any(Number), expect.stringContaining(words)]);
    expect(code).not.toBe(0);
  });
});

describe('a row', () => {
  it.each([
    ['its name', () => 'invoice robot'],
    ['its id', () => agent.id],
    ['the end of its id', () => agent.id.slice(-8)],
  ])('is found by %s', async (_, name) => {
    expect(await json('agent', 'show', name())).toMatchObject({ id: agent.id });
  });

  it('is not found by a name that is only nearly its own', async () => {
    const { told, code } = await service.run(['agent', 'show', 'invoise robot']);
    expect([code, told[0]]).toEqual([1, expect.stringContaining('Did you mean "invoice robot"?')]);
  });

  it('is not guessed where several are meant', async () => {
    const { told, code } = await service.run(['agent', 'suspend', 'robot']);
    expect([code, told[0]]).toEqual([
      1,
      expect.stringMatching(/names 2 of the agent rows[\s\S]*invoice robot/),
    ]);
  });

  it('has all its fields', async () => {
    const { lines } = await service.run(['delivery', 'show', delivery.id]);
    expect(lines.join('\n')).toMatch(/^id +\S+[\s\S]*^status +held$[\s\S]*^payload\.data\.n +1$/m);
  });
});

describe('an act', () => {
  it.each([
    ['agent', ['suspend', 'reactivate', 'delete']],
    ['key', ['deprecate', 'revoke']],
    [
      'webhook',
      ['pause', 'resume', 'test', 'probe', 'rotate-secret', 'replay', 'cancel-deliveries', 'delete'],
    ],
    ['delivery', ['retry', 'cancel']],
    ['event', ['publish', 'follow']],
    ['audit', ['verify']],
  ])('of %s is what the interface has for a row', async (name, acts) => {
    const { lines } = await service.run([name, '--help']);
    const found = [...lines.join('\n').matchAll(/^ {2}(?!list|show|help)([a-z-]+) /gm)].map(([, act]) => act);
    expect(found.toSorted()).toEqual(acts.toSorted());
  });

  it('suspends and reactivates an agent', async () => {
    expect((await service.run(['agent', 'suspend', 'invoice robot'])).lines).toEqual([
      `agent ${agent.id}: suspend is done.`,
    ]);
    expect(await json('agent', 'reactivate', 'invoice robot')).toMatchObject({ status: 'active' });
  });

  it('revokes a key, with a reason', async () => {
    const { body: key } = await service.owner.send('POST', `/api/v1/agents/${agent.id}/keys`, {
      algorithm: 'ed25519',
      public_key: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
      label: 'laptop',
    });
    await service.run(['key', 'revoke', 'laptop', '--agent', 'invoice robot', '--reason', 'lost']);
    expect(await json('key', 'show', key.key_id, '--agent', agent.id)).toMatchObject({ state: 'revoked' });
    expect(await json('audit', 'list', '--action', 'agent.key.revoked')).toEqual([
      expect.objectContaining({ data: expect.objectContaining({ reason: 'lost' }) }),
    ]);
  });

  it('resumes, pauses and tests a subscription, and rotates its secret', async () => {
    expect(await json('webhook', 'resume', URL)).toMatchObject({ active: true });
    expect(await json('webhook', 'pause', webhook.id.slice(-10))).toMatchObject({ active: false });
    expect((await service.run(['webhook', 'resume', URL])).lines).toEqual([
      `webhook ${webhook.id}: resume is done.`,
    ]);
    const tested = await service.run(['webhook', 'test', URL, '--type', 'wallet.tx.signed']);
    expect(tested.lines[1]).toMatch(/^ {2}delivery_id {2}\S+$/);
    const rotated = await service.run(['webhook', 'rotate-secret', URL, '--overlap-seconds', '60']);
    expect(rotated.lines.join('\n')).toMatch(/secret +whsec_/);
  });

  it('probes an endpoint, and says why there is nothing to probe', async () => {
    await service.run(['webhook', 'resume', URL]);
    const { told, code } = await service.run(['webhook', 'probe', URL]);
    expect([code, told[0]]).toEqual([1, expect.stringMatching(/endpoint is \w+.*409 conflict/)]);
  });

  it('sends failed deliveries again: counted before, and followed until all are', async () => {
    const type = 'shop.refused';
    const url = 'http://127.0.0.1:9098/hooks';
    const { body: made } = await service.owner.send('POST', '/api/v1/webhooks', {
      url,
      event_types: [type],
      active: false,
    });
    for (let n = 0; n < 3; n += 1) await service.owner.send('POST', '/api/v1/events', { type, data: { n } });
    await service.database.query(
      `UPDATE deliveries SET status = 'failed', completed_at = now() - interval '1 s', next_attempt_at = NULL WHERE subscription_id = $1`,
      [made.id],
    );
    await service.run(['webhook', 'resume', url]);
    const command = ['webhook', 'replay', url, '--since', '1h', '--status', 'failed'];
    expect((await service.run([...command, '--dry-run'])).lines).toEqual(['3 would be sent again.']);
    const following = service.begin(command);
    await eventually(() => following.told.length > 0, 'the progress');
    expect(following.told).toEqual(['0 of 3 are sent again']);
    // Of three one has arrived, one waits, and one has failed again.
    await service.database.query(
      `WITH taken AS (SELECT array_agg(id ORDER BY id) AS ids FROM deliveries WHERE subscription_id = $1), part AS (
         INSERT INTO bulk_replay_parts SELECT r.id, ids[1], ids[3], ids FROM bulk_replays r, taken WHERE r.subscription_id = $1
       ), ended AS (
         UPDATE deliveries SET status = CASE id WHEN ids[1] THEN 'delivered' WHEN ids[2] THEN 'retrying' ELSE status END
         FROM taken WHERE subscription_id = $1
       ) UPDATE bulk_replays SET status = 'completed', replayed = 3, completed_at = now() WHERE subscription_id = $1`,
      [made.id],
    );
    expect(await following.ended).toMatchObject({
      lines: [
        expect.stringMatching(
          /^3 of 3 are sent again: completed\. Of these: 1 delivered, 1 waiting, 1 failed again\. Later: GET \/api\/v1\/webhooks\//,
        ),
      ],
      code: 0,
    });
    await service.database.query(`UPDATE deliveries SET status = 'canceled' WHERE subscription_id = $1`, [
      made.id,
    ]);
    const left = service.begin([...command.slice(0, -1), 'canceled']);
    await eventually(() => left.told.length > 0, 'the progress');
    left.end();
    expect((await left.ended).lines).toEqual([expect.stringMatching(/^It goes on: GET .*\/replays\//)]);
  });

  it('retries and cancels a delivery', async () => {
    await service.run(['webhook', 'resume', URL]);
    expect((await service.run(['delivery', 'cancel', delivery.id])).lines[0]).toContain('cancel is done');
    expect((await service.run(['delivery', 'retry', delivery.id])).lines[0]).toContain('retry is done');
  });

  it('publishes an event under its other name', async () => {
    expect((await service.run(['event', 'publish', 'shop.sold', '--data', '{}'])).lines[0]).toContain(
      'shop.sold: event',
    );
  });

  it('that the service refuses is told in its words', async () => {
    const { told, code } = await service.run(['delivery', 'cancel', webhook.id]);
    expect([code, told[0]]).toEqual([1, expect.stringContaining('404 not_found')]);
  });
});

describe('the token of a command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cache-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const files = () =>
    readdirSync(join(folder, 'countersign')).map((name) => join(folder, 'countersign', name));
  const list = (env = {}) =>
    service.run(['agent', 'list'], { env: { ...service.env, XDG_CACHE_HOME: folder, ...env } });
  const signIns = async () =>
    (await json('audit', 'list', '--action', 'auth.login.success', '--limit', '200')).length;

  it('is kept for the next one, in a file of this user alone', async () => {
    expect((await list()).code).toBe(0);
    const before = await signIns();
    expect((await list()).code).toBe(0);
    expect((await list()).code).toBe(0);
    // The count itself is a sign-in: it keeps nothing.
    expect(await signIns()).toBe(before + 1);
    const [file = ''] = files();
    expect(files()).toHaveLength(1);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain(service.env.COUNTERSIGN_CLIENT_SECRET);
  });

  it.each([
    ['is refused', (token: object) => JSON.stringify({ ...token, text: 'ended' })],
    ['is of the past', (token: object) => JSON.stringify({ ...token, text: 'ended', renewAt: 1 })],
    ['is no JSON', () => '{"text'],
    ['has other fields', () => '{"text": 1}'],
  ])('is asked for anew where the one before %s', async (_, change) => {
    const [file = ''] = files();
    const good = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, change(good));
    expect(await list()).toMatchObject({ code: 0, told: [] });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      text: expect.stringMatching(/^ey/),
      renewAt: expect.any(Number),
    });
  });

  it('is not that of another secret, and a refusal of a new one is said', async () => {
    expect((await list({ COUNTERSIGN_CLIENT_SECRET: 'another' })).told.join()).toContain('invalid_client');
    expect(files()).toHaveLength(1);
  });

  it('is not needed in a file: a folder that cannot be written is no failure', async () => {
    expect((await list({ XDG_CACHE_HOME: join(files()[0] ?? '', 'below') })).code).toBe(0);
  });
});
