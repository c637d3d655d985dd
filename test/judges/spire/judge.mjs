// A real SPIRE server: its JWT-SVIDs get tokens by the bundle of its trust domain, and each of those that must not is
// refused. The server is built from the Go module proxy (minutes, once), unless SPIRE_SERVER is its path.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createManagement, freePort, startStack } from '../stack.mjs';
import { run } from '../standard-webhooks.mjs';

const VERSION = '1.13.3';
const TRUST_DOMAIN = 'example.org';
const WORKLOAD = `spiffe://${TRUST_DOMAIN}/shop/buyer`;
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** @returns the path of the server */
async function findServer({ say, folder }) {
  if (process.env.SPIRE_SERVER) return process.env.SPIRE_SERVER;
  say('building SPIRE');
  const module = await run('go', ['mod', 'download', '-json', `github.com/spiffe/spire@v${VERSION}`]);
  const built = join(folder, 'spire-server');
  await run('go', ['build', '-o', built, './cmd/spire-server'], { cwd: JSON.parse(module).Dir });
  return built;
}

/** A server with its keys in memory. @returns its bundle, what it mints, and `close` */
async function startSpire({ say, folder }, program, name) {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const socket = join(home, 'api.sock');
  const configuration = `
server {
  bind_address = "127.0.0.1"
  bind_port = "${await freePort()}"
  socket_path = "${socket}"
  trust_domain = "${TRUST_DOMAIN}"
  data_dir = "${home}"
  log_level = "WARN"
  default_jwt_svid_ttl = "5m"
}
plugins {
  DataStore "sql" { plugin_data { database_type = "sqlite3", connection_string = "${join(home, 'data.sqlite3')}" } }
  KeyManager "memory" { plugin_data {} }
  NodeAttestor "join_token" { plugin_data {} }
}
`;
  const file = join(home, 'server.conf');
  writeFileSync(file, configuration);
  say(`starting SPIRE (${name})`);
  const child = spawn(program, ['run', '-config', file], { stdio: 'ignore' });
  for (let waited = 0; !existsSync(socket); waited += 1) {
    if (child.exitCode !== null || waited > 300) throw new Error('SPIRE did not start');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const ask = (...args) => {
    const { status, stdout, stderr } = spawnSync(program, [...args, '-socketPath', socket], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`spire-server ${args.join(' ')}: ${stderr || stdout}`);
    return stdout;
  };
  return {
    bundle: () => JSON.parse(ask('bundle', 'show', '-format', 'spiffe')),
    mint: (spiffeId, audience, ...more) =>
      ask('jwt', 'mint', '-spiffeID', spiffeId, '-audience', audience, ...more).trim(),
    close: () => child.kill('SIGTERM'),
  };
}

export const judge = {
  name: 'spire',
  version: VERSION,
  what: 'JWT-SVIDs of two SPIRE servers: tokens for the right ones, refusals of the others',
  needs: ['go'],
  run: async (context) => {
    const counts = { passed: 0, failed: 0, warnings: [] };
    const program = await findServer(context);
    const spire = await startSpire(context, program, 'home');
    const foreign = await startSpire(context, program, 'foreign');
    const stack = await startStack(context);
    try {
      const manage = createManagement(stack.tenant);
      const audience = stack.tenant.issuer_url;
      const agent = await manage('POST', '/api/v1/agents', { name: 'buyer', scopes: ['openid'] });
      const issuer = await manage('POST', '/api/v1/workload-issuers', {
        issuer: `spiffe://${TRUST_DOMAIN}`,
        jwks: spire.bundle(),
        audiences: [audience],
        rules: [{ agent_id: agent.id, claims: { sub: `spiffe://${TRUST_DOMAIN}/shop/*` } }],
      });

      const ask = async (assertion) => {
        const body = new URLSearchParams({ grant_type: GRANT, assertion });
        const response = await fetch(`${stack.tenant.issuer_url}/oauth/token`, { method: 'POST', body });
        return { status: response.status, body: await response.json() };
      };
      const expect = async (name, assertion, wanted) => {
        const { status, body } = await ask(assertion);
        const isRight = wanted === 'token' ? status === 200 : body.error === wanted;
        counts[isRight ? 'passed' : 'failed'] += 1;
        context.say(`${isRight ? 'PASSED' : 'FAILED'} ${name}: ${body.detail ?? body.error ?? 'a token'}`);
        if (!isRight) counts.warnings.push(`${name}: ${status} ${JSON.stringify(body)}`);
        return body;
      };

      const first = spire.mint(WORKLOAD, audience);
      const { access_token } = await expect('a JWT-SVID', first, 'token');
      const self = await fetch(`${stack.tenant.issuer_url}/auth/agent/self`, {
        headers: { authorization: `Bearer ${access_token}` },
      });
      const { id } = await self.json();
      counts[id === agent.id ? 'passed' : 'failed'] += 1;
      // Requests whose answers may have been lost (docs/specification.md, "Assertions of workloads").
      for (const time of ['second', 'third', 'fourth'])
        await expect(`the same one a ${time} time`, first, 'token');
      await expect('the same one a fifth time', first, 'invalid_grant');
      // Without a jti two of the same second are one (docs/workloads.md).
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await expect('another one of the same workload', spire.mint(WORKLOAD, audience), 'token');
      await expect(
        'another workload',
        spire.mint(`spiffe://${TRUST_DOMAIN}/other`, audience),
        'invalid_grant',
      );
      await expect('another audience', spire.mint(WORKLOAD, 'https://other.example'), 'invalid_grant');
      await expect(
        'two audiences',
        spire.mint(WORKLOAD, audience, '-audience', 'https://other.example'),
        'invalid_grant',
      );
      await expect(
        'a server of the same name with other keys',
        foreign.mint(WORKLOAD, audience),
        'invalid_grant',
      );
      const brief = spire.mint(WORKLOAD, audience, '-ttl', '1s');
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await expect('one that has expired', brief, 'invalid_grant');
      await manage('PATCH', `/api/v1/agents/${agent.id}/suspend`, {});
      await expect('one for a suspended agent', spire.mint(WORKLOAD, audience), 'policy_denied');
      await manage('PATCH', `/api/v1/agents/${agent.id}/reactivate`, {});
      await manage('PATCH', `/api/v1/workload-issuers/${issuer.id}`, { jwks: foreign.bundle() });
      await expect('one by the keys of before', spire.mint(WORKLOAD, audience), 'invalid_grant');
      await expect('one by the new keys', foreign.mint(WORKLOAD, audience), 'token');
      await manage('PATCH', `/api/v1/workload-issuers/${issuer.id}`, { rules: [] });
      await expect('one whose rule was removed', foreign.mint(WORKLOAD, audience), 'invalid_grant');
      return counts;
    } finally {
      spire.close();
      foreign.close();
      await stack.close();
    }
  },
};
