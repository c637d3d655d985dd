// The packages for Python: their own tests, the programs of their READMEs as they stand there, and an agent against the
// real service.
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENROLLMENT_COMMANDS, issuerOf } from '../../src/console/enrollment.ts';
import { claimsOf } from '../authentication/tokens/refresh-fixture.ts';
import { readBlocks } from '../documentation/pages.ts';
import { startTenants, type Tenants } from '../isolation/tenants-server.ts';
import { SECRET } from '../packages/receiver/delivery-request.ts';
import { takePort } from '../setup/ports.ts';
import { attemptTo, startLocalSender } from '../webhooks/deliveries/attempt.ts';
import { findPython, packageOf, runPython } from './python.ts';
import { whileServing } from './python-server.ts';

const python = findPython();
if (python === undefined)
  process.stdout.write('No Python with cryptography: the packages for Python are left out.\n');

describe.skipIf(python === undefined)('for Python', () => {
  const found = python ?? 'python3';
  let tenants: Tenants;
  let folder: string;
  const local = startLocalSender();
  beforeAll(async () => {
    tenants = await startTenants();
    folder = await mkdtemp(join(tmpdir(), 'countersign-python-'));
  });
  afterAll(async () => {
    await local.close();
    await tenants?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  it.each(['receiver', 'agent'])('countersign-%s passes its own tests', async (name) => {
    const place = ['-s', 'test/python', '-p', `test_${name}.py`];
    const { stderr } = await runPython(found, ['-m', 'unittest', 'discover', ...place]);
    expect(stderr).toMatch(/Ran \d\d tests[\s\S]*\nOK\n$/);
  });

  it('the receiver of the README takes what our sender sends, once, and refuses what another sends', async () => {
    const [program = ''] = readBlocks(join(packageOf('countersign-receiver'), 'README.md'), 'python');
    await writeFile(join(folder, 'wsgi.py'), program);
    const port = await takePort();
    const url = `http://127.0.0.1:${port}/`;
    const env = { PORT: String(port), WEBHOOK_SECRETS: `whsec_old,${SECRET}` };
    const said = await whileServing(url, [found, [join(folder, 'wsgi.py')], env], async () => {
      const genuine = attemptTo(url, { secrets: { current: SECRET } });
      const answers = [];
      for (const attempt of [genuine, genuine, { ...genuine, secrets: { current: 'another' } }]) {
        const { statusCode, responseExcerpt } = await local.sender.send(attempt);
        answers.push(`${statusCode} ${responseExcerpt}`);
      }
      expect(answers).toEqual([
        '200 {"status":"processed"}',
        '200 {"status":"ignored"}',
        '401 {"error":"invalid_signature"}',
      ]);
    });
    expect(said.match(/^arrived: .*$/gm)).toHaveLength(1);
    expect(said).toContain('check that it has the secret of this subscription');
  });

  /** An agent without a key. @returns what its management hands over to it */
  async function handOver() {
    const { owner } = tenants;
    const made = await owner.send('POST', '/api/v1/agents', {
      name: 'an agent in Python',
      scopes: ['openid', 'vault:read'],
      audiences: ['https://vault.example'],
    });
    return (await owner.send('POST', `/api/v1/agents/${made.body.id}/enrollment-tokens`, {})).body;
  }

  it('the agent of the README enrols, gets a token and uses it', async () => {
    const [program = ''] = readBlocks(join(packageOf('countersign-agent'), 'README.md'), 'python');
    await writeFile(join(folder, 'agent.py'), program);
    const env = { ISSUER: tenants.owner.credentials.issuer_url };
    for (const once of [{ HANDED: JSON.stringify(await handOver()) }, {}])
      expect((await runPython(found, ['agent.py'], { cwd: folder, env: { ...env, ...once } })).stdout).toBe(
        '200 an agent in Python\n',
      );
  });

  it('the commands of the console enrol an agent, too', async () => {
    const cwd = await mkdtemp(join(folder, 'console-'));
    const handed = await handOver();
    await writeFile(
      join(cwd, 'agent.py'),
      ENROLLMENT_COMMANDS.Python(handed, issuerOf(handed), 'openid vault:read'),
    );
    const { stdout } = await runPython(found, ['agent.py'], { cwd });
    expect(stdout).toBe('200 an agent in Python\n');
  });

  it.each([
    ['ed25519', true],
    ['es256', true],
    ['es256k', true],
    ['ed25519', false],
  ])(
    'an agent with %s enrols, rotates its key and acts for a user; proofs of possession: %s',
    async (algorithm, dpop) => {
      const { owner } = tenants;
      const handed = await handOver();
      const trusted = await trustIssuer(`https://login-${algorithm}-${dpop}.example.com`);
      const delegation = await owner.send('POST', '/api/v1/delegations', {
        subject: { issuer: trusted.issuer, sub: 'ada' },
        agent_id: handed.agent_id,
        scopes: ['vault:read'],
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      });
      expect(delegation.status).toBe(201);
      const application = await owner.send('POST', '/api/v1/applications', {
        name: 'agent gateway',
        scopes: ['vault:read'],
        grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
      });
      const file = join(folder, `${algorithm}-${dpop}.json`);
      const client = [application.body.client_id, application.body.client_secret];
      const given = {
        algorithm,
        dpop,
        handed,
        client,
        issuer: owner.credentials.issuer_url,
        user_token: trusted.token,
      };
      await writeFile(file, JSON.stringify(given));
      const { stdout } = await runPython(found, ['test/python/walk.py', file]);
      const got = JSON.parse(stdout);
      expect(got).toMatchObject({
        enrolled: { agent_id: handed.agent_id, algorithm, state: 'active', label: 'by Python' },
        token: { scope: 'openid vault:read', token_type: dpop ? 'DPoP' : 'Bearer' },
        ...{ cached: true, switched: true, refused: 'invalid_scope' },
      });
      expect(claimsOf(got.token.access_token)).toMatchObject({
        sub: handed.agent_id,
        aud: 'https://vault.example',
        ...(dpop ? { cnf: { jkt: expect.any(String) } } : {}),
      });
      expect(claimsOf(got.delegated.access_token)).toMatchObject({
        act: { sub: handed.agent_id },
        delegated_subject: { iss: trusted.issuer, sub: 'ada' },
        scope: 'vault:read',
      });
    },
  );

  /** Trusts an issuer of users. @returns it, and a token of its user */
  async function trustIssuer(issuer: string) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const aud = tenants.owner.credentials.base_url;
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'ES256' }] };
    const made = await tenants.owner.send('POST', '/api/v1/trusted-issuers', {
      issuer,
      jwks,
      audiences: [aud],
    });
    expect(made.status).toBe(201);
    const iat = Math.floor(Date.now() / 1000);
    const text = [
      { alg: 'ES256', kid: '1', typ: 'JWT' },
      { iss: issuer, sub: 'ada', aud, iat, exp: iat + 600 },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return { issuer, token: `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}` };
  }
});
