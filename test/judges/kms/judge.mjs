// AWS KMS as moto has it, and a real Vault: each wraps a key for one setting, unwraps it for that one, refuses what it
// must, and is missed by name. Vault is built from the Go module proxy (many minutes, once), unless VAULT is its path.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withKeys, wrapKey } from '#dist/src/app/keys.js';
import { installPython } from '../oauth-clients.mjs';
import { freePort } from '../stack.mjs';
import { run } from '../standard-webhooks.mjs';

const MOTO = '5.2.5';
const VAULT = '1.21.0';
/** The release of Vault's own modules that its version is built with, in place of folders that the proxy leaves out. */
const SDK = '0.20.0';
const TOKEN = 'hvs-of-the-judge';
const PLAIN = Buffer.alloc(32, 5);

/** @returns the path of Vault, without the databases and clouds that only other engines need */
async function findVault({ say, folder }) {
  if (process.env.VAULT) return process.env.VAULT;
  say('building Vault');
  const module = await run('go', ['mod', 'download', '-json', `github.com/hashicorp/vault@v${VAULT}`]);
  const cwd = JSON.parse(module).Dir;
  for (const name of ['go.mod', 'go.sum']) writeFileSync(join(folder, name), readFileSync(join(cwd, name)));
  const own = ['api', 'api/auth/approle', 'api/auth/kubernetes', 'api/auth/userpass', 'sdk'];
  const edits = own.map((name) => `-dropreplace=github.com/hashicorp/vault/${name}`);
  const file = join(folder, 'go.mod');
  await run('go', ['mod', 'edit', ...edits, `-require=github.com/hashicorp/vault/sdk@v${SDK}`, file]);
  const built = join(folder, 'vault');
  await run('go', ['build', '-mod=mod', `-modfile=${file}`, '-tags', 'minimal', '-o', built, '.'], { cwd });
  return built;
}

/** Starts a program, and waits until it answers. @returns `end`, after which it is away */
async function startProgram(program, args, url) {
  const child = spawn(program, args, { stdio: 'ignore' });
  for (let waited = 0; ; waited += 1) {
    if (child.exitCode !== null || waited > 300) throw new Error(`${program} did not start`);
    const answered = await fetch(url).catch(() => undefined);
    if (answered !== undefined) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child.once('exit', resolve));
  };
}

async function startMoto(context) {
  const python = await installPython(context, [`moto[server]==${MOTO}`]);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const end = await startProgram(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], url);
  const env = {
    AWS_REGION: 'eu-west-1',
    AWS_ENDPOINT_URL_KMS: url,
    AWS_ACCESS_KEY_ID: 'judge',
    AWS_SECRET_ACCESS_KEY: 'judge',
  };
  Object.assign(process.env, env);
  const { CreateAliasCommand, CreateKeyCommand, KMSClient } = await import('@aws-sdk/client-kms');
  const client = new KMSClient();
  const { KeyMetadata } = await client.send(new CreateKeyCommand());
  await client.send(
    new CreateAliasCommand({ AliasName: 'alias/countersign', TargetKeyId: KeyMetadata?.KeyId }),
  );
  client.destroy();
  return { by: 'awskms:alias/countersign', none: 'awskms:alias/none', env, end };
}

async function startVault(context) {
  const program = await findVault(context);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const listen = `-dev-listen-address=127.0.0.1:${port}`;
  const dev = ['server', '-dev', `-dev-root-token-id=${TOKEN}`, listen, '-dev-no-store-token'];
  const end = await startProgram(program, dev, `${url}/v1/sys/health`);
  const ask = async (path, body) => {
    const headers = { 'x-vault-token': TOKEN };
    const answer = await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? undefined : answer.json();
  };
  await ask('sys/mounts/transit', { type: 'transit' });
  await ask('transit/keys/countersign', {});
  const rules = 'path "transit/+/countersign" { capabilities = ["update"] }';
  await ask('sys/policies/acl/countersign', { policy: rules });
  const { auth } = await ask('auth/token/create', { policies: ['countersign'] });
  const env = { VAULT_ADDR: url, VAULT_TOKEN: auth.client_token };
  return { by: 'vault:transit/countersign', none: 'vault:transit/none', env, end };
}

/** @param check records one judgment @param service a running key service, which is ended */
async function judgeService(check, { by, none, env, end }) {
  const told = (error) => /** @type {Error} */ (error).message;
  const open = (keys) => withKeys({ ...env, NODE_ENV: 'production', ...keys }, 'worker').catch(told);
  const wrapped = await wrapKey(env, by, PLAIN, 'MASTER_KEY');
  const opened = await open({ MASTER_KEY: wrapped });
  check(`${by} gives back what it wrapped`, Object(opened).MASTER_KEY === PLAIN.toString('base64'), opened);
  const other = await open({ AUDIT_KEY: wrapped });
  check(`${by} gives it to no other setting`, /^AUDIT_KEY: .* refuses: /.test(String(other)), other);
  const changed = await open({ MASTER_KEY: `${wrapped.slice(0, -8)}AAAAAAA=` });
  check(`${by} refuses a changed text`, /^MASTER_KEY: .* refuses: /.test(String(changed)), changed);
  const unknown = await wrapKey(env, none, PLAIN, 'MASTER_KEY').catch(told);
  check(`${none} is refused`, /^MASTER_KEY: .* refuses: /.test(unknown), unknown);
  await end();
  const away = await open({ MASTER_KEY: wrapped });
  check(`${by} is missed by name`, /^MASTER_KEY: .* is away, asked 4 times: /.test(String(away)), away);
}

export const judge = {
  name: 'kms',
  version: `moto ${MOTO}, Vault ${VAULT}`,
  what: 'keys of settings, wrapped and unwrapped; refusals; a service that is away',
  needs: ['python3', 'go'],
  run: async (context) => {
    const counts = { passed: 0, failed: 0, warnings: [] };
    const check = (what, holds, seen) => {
      counts[holds ? 'passed' : 'failed'] += 1;
      if (!holds) counts.warnings.push(`${what}: ${JSON.stringify(seen)}`);
    };
    for (const start of [startMoto, startVault]) {
      const service = await start(context);
      try {
        await judgeService(check, service);
      } finally {
        await service.end();
      }
    }
    return counts;
  },
};
