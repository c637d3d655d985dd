// The part that the judges of OAuth client libraries share: a whole service with two tenants, one of them with a path
// in its issuer, and applications, keys and tokens for a program of the library's language to use.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SignJWT } from 'jose';
import { createManagement, freePort, startStack } from './stack.mjs';
import { run } from './standard-webhooks.mjs';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const SCOPES = ['agents:read', 'openid'];

/**
 * Runs a program against both tenants. It reads the file of its first argument (see `makeFacts`), and prints a line
 * `ok NAME` or `not ok NAME - REASON` for each case.
 * @param build makes the program @returns its command with arguments
 */
export async function judgeClient(context, build) {
  const { say, folder } = context;
  say('building the program');
  const [command, ...args] = await build();
  const stack = await startStack(context);
  const counts = { passed: 0, failed: 0, warnings: [] };
  try {
    const create = ['dist/src/main.js', 'tenant', 'create', 'acme', '--json'];
    const env = { ...process.env, DATA_DIR: join(folder, 'data'), PUBLIC_URL: stack.publicUrl };
    // Of no matter to the other languages.
    const forPython = { ...process.env, PYTHONPATH: import.meta.dirname, PYTHONDONTWRITEBYTECODE: '1' };
    const acme = JSON.parse(await run(process.execPath, create, { env }));
    for (const [name, tenant] of [
      ['root', stack.tenant],
      ['path', acme],
    ]) {
      const facts = join(folder, `${name}.json`);
      writeFileSync(facts, JSON.stringify(await makeFacts(tenant)));
      const text = await run(command, [...args, facts], { cwd: folder, env: forPython });
      for (const line of text.split('\n').filter((each) => /^(not )?ok /.test(each))) {
        say(`${name}: ${line}`);
        counts[line.startsWith('ok ') ? 'passed' : 'failed'] += 1;
        if (!line.startsWith('ok ')) counts.warnings.push(`${name}: ${line}`);
      }
    }
    return counts;
  } finally {
    await stack.close();
  }
}

/** An environment of Python in the judge's folder with packages from PyPI. @returns its interpreter */
export async function installPython({ folder }, packages) {
  const home = join(folder, 'python');
  await run('python3', ['-m', 'venv', home]);
  const python = join(home, 'bin', 'python');
  await run(python, ['-m', 'pip', 'install', '--quiet', ...packages]);
  return python;
}

/** Compiles `Client.java` of a judge with artifacts of Maven Central, as `group:artifact:version`. @returns how to run it */
export async function buildJava({ folder }, artifacts, place) {
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version] = artifact.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`;
  });
  const own = '<modelVersion>4.0.0</modelVersion><groupId>judge</groupId><artifactId>judge</artifactId>';
  const body = `${own}<version>1</version><dependencies>${dependencies.join('')}</dependencies>`;
  writeFileSync(join(folder, 'pom.xml'), `<project>${body}</project>`);
  const jars = join(folder, 'jars');
  await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`], {
    cwd: folder,
  });
  const [classes, libraries] = [join(folder, 'classes'), join(jars, '*')];
  const sources = [join(import.meta.dirname, 'OauthCases.java'), join(place, 'Client.java')];
  await run('javac', ['-nowarn', '-cp', libraries, '-d', classes, ...sources]);
  return ['java', '-cp', [classes, libraries].join(delimiter), 'Client'];
}

/** What a program may use: applications with a secret and with keys, a user and an agent to exchange, a workload. */
async function makeFacts(tenant) {
  const manage = createManagement(tenant);
  // The address of a resource server, on which the program may listen.
  const port = await freePort();
  const resource = `http://127.0.0.1:${port}/mcp`;
  const createApplication = async (more) => {
    const common = { name: 'judge', audience: resource, scopes: SCOPES };
    const { client_id, client_secret } = await manage('POST', '/api/v1/applications', { ...common, ...more });
    return { client_id, client_secret };
  };
  const withKey = async ({ pem, jwk, open }) => ({
    ...(await createApplication({ jwks: { keys: [open] } })),
    pem,
    jwk,
  });
  const [rsa, ec] = [makeKey('RS256'), makeKey('ES256')];
  const agent = await manage('POST', '/api/v1/agents', {
    name: 'judge',
    scopes: ['openid'],
    audience: resource,
  });
  const actor = await createApplication({ agent_id: agent.id, scopes: ['openid'] });
  return {
    issuer: tenant.issuer_url,
    resource,
    port,
    secret: await createApplication({ grant_types: ['client_credentials', EXCHANGE] }),
    rsa: await withKey(rsa),
    ec: await withKey(ec),
    exchange: {
      user_token: await delegate(manage, tenant, agent, ec),
      agent_token: await issueToken(tenant, actor),
      agent_id: agent.id,
    },
    workload: await trustWorkload(manage, tenant, agent, rsa),
  };
}

function makeKey(alg) {
  const { privateKey, publicKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const named = { kid: 'judge', alg, use: 'sig' };
  return {
    privateKey,
    pem: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    jwk: { ...privateKey.export({ format: 'jwk' }), ...named },
    open: { ...publicKey.export({ format: 'jwk' }), ...named },
  };
}

/** A user of another issuer delegates to the agent. @returns the user's token */
async function delegate(manage, { base_url }, agent, { privateKey, open }) {
  const [issuer, sub] = ['https://people.example', 'ada'];
  await manage('POST', '/api/v1/trusted-issuers', { issuer, jwks: { keys: [open] }, audiences: [base_url] });
  await manage('POST', '/api/v1/delegations', {
    subject: { issuer, sub },
    agent_id: agent.id,
    scopes: ['openid'],
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  return new SignJWT({ iss: issuer, sub, aud: base_url })
    .setProtectedHeader({ alg: 'ES256', kid: 'judge', typ: 'JWT' })
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
}

/** The agent may come as a workload of another issuer. @returns what its assertions are made of */
async function trustWorkload(manage, { issuer_url }, agent, { pem, jwk, open }) {
  const [issuer, subject] = ['https://workloads.example', 'buyer'];
  await manage('POST', '/api/v1/workload-issuers', {
    issuer,
    jwks: { keys: [open] },
    audiences: [issuer_url],
    rules: [{ agent_id: agent.id, claims: { sub: subject } }],
  });
  return { issuer, subject, pem, jwk };
}

async function issueToken(tenant, { client_id, client_secret }) {
  const issued = await fetch(`${tenant.issuer_url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }),
  });
  const { access_token } = await issued.json();
  return access_token;
}
