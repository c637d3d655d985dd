// The public documents of an issuer while the database is away: they are what they were, and all else says that it
// cannot be done.
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DATABASE_LIMITS } from '../../../src/platform/database/database.ts';
import { startTenants, type Tenants } from '../../isolation/tenants-server.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';

const DOCUMENTS = [
  '/.well-known/jwks.json',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
];

/** Milliseconds after which what the process has read is no longer fresh. The clock jumps as far. */
const AGE = 2_500;

describe.each(['stalls', 'is gone'])('a database that %s', (what) => {
  let proxy: Awaited<ReturnType<typeof createStallingProxy>>;
  let tenants: Tenants;
  beforeAll(async () => {
    const place = async (url: string) => {
      proxy = await createStallingProxy(url);
      return proxy.url;
    };
    // Those of a deployment: a database that stalls is waited for until they end.
    tenants = await startTenants(undefined, place, {}, DATABASE_LIMITS);
  });
  afterAll(async () => {
    proxy.resume();
    await tenants.close();
    await proxy.close();
  });

  it('takes no document from those who have to check tokens', async () => {
    const { owner } = tenants;
    const read = () => Promise.all(DOCUMENTS.map((path) => owner.send('GET', path, undefined, null)));
    const before = await read();
    expect(before.map(({ status }) => status)).toEqual([200, 200, 200]);
    if (what === 'stalls') proxy.stall();
    else await proxy.close();
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + AGE);
    onTestFinished(() => void vi.restoreAllMocks());
    for (let round = 0; round < 2; round += 1) {
      const away = await read();
      expect(away.map(({ status, text }) => [status, text])).toEqual(before.map(({ text }) => [200, text]));
    }
    const { status } = await owner.post('/oauth/token', { grant_type: 'client_credentials' });
    expect(status).toBe(503);
  });
});
