// What an agent does in any JavaScript runtime, with web interfaces only. A service of a few lines answers it.

/**
 * @param {typeof import('../../../packages/agent/src/index.ts')} published the module under test
 * @param {{ key: object }} input a private key as JWK
 */
export async function runScenario(published, { key }) {
  const requests = [];
  const fetch = async (input, init) => {
    const request = new Request(input, init);
    requests.push(
      `${request.method} ${new URL(request.url).pathname} ${request.headers.get('dpop') !== null}`,
    );
    if (request.url.endsWith('/challenge')) {
      const times = { timestamp: '2026-01-01T00:00:00Z', expires_at: '2026-01-01T00:05:00Z' };
      const names = { audience: 'a', client_id: 'service-agent', scope_hash: 'h', key_fingerprint: 'f' };
      return Response.json({ challenge_id: 'c', nonce: 'n', algorithm: 'ed25519', ...times, ...names });
    }
    const isProved = requests.filter((line) => line.includes('/verify')).length > 1;
    if (request.url.endsWith('/verify') && !isProved) {
      const headers = { 'dpop-nonce': 'n-1' };
      return Response.json({ error: 'use_dpop_nonce' }, { status: 400, headers });
    }
    return Response.json({ access_token: 'a.b.c', token_type: 'DPoP', expires_in: 300, scope: 'openid' });
  };
  const agent = await published.createAgent({ issuer: 'https://id.example', key, dpop: true, fetch });
  const { accessToken } = await agent.getToken();
  const answer = await agent.fetch('https://vault.example/items');
  return {
    ...{ requests, accessToken, status: answer.status, fingerprint: agent.fingerprint.length },
    made: (await published.generateKey('es256')).crv,
    node: [typeof process, typeof Buffer, typeof require, typeof global],
  };
}
