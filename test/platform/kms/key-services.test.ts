// A key of a setting is wrapped and unwrapped by AWS KMS, by its own client, and by Vault.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgram } from '../../../src/app/command-line.ts';
import { withKeys, wrapKey } from '../../../src/app/keys.ts';
import { LocalStackError } from '../../../src/app/local/local-stack-error.ts';
import { ConfigError, loadConfig, readVariables, vaultOf } from '../../../src/platform/config.ts';
import { askKeyService, KeyServiceError } from '../../../src/platform/kms/key-service.client.ts';
import { parseServiceKey, parseWrappedKey } from '../../../src/platform/wrapped-key.ts';
import { startKeyServices } from './fake-key-services.ts';

const PLAIN = Buffer.alloc(32, 5);
const OTHER = Buffer.alloc(32, 6).toString('base64');

let services: Awaited<ReturnType<typeof startKeyServices>>;

beforeEach(async () => {
  services = await startKeyServices();
  // AWS's client reads the environment of the process.
  for (const [name, value] of Object.entries(services.env)) vi.stubEnv(name, value);
  return () => vi.unstubAllEnvs();
});

const inProduction = (keys: Record<string, string>) => ({ ...services.env, NODE_ENV: 'production', ...keys });

describe.each([
  {
    by: 'awskms:alias/countersign',
    name: 'AWS KMS (eu-west-1, key alias/countersign)',
    refusal: [400, { __type: 'AccessDeniedException', message: 'not authorized to perform: kms:Decrypt' }],
    refused: 'refuses: AccessDeniedException: not authorized to perform: kms:Decrypt',
    away: [500, { __type: 'KMSInternalException', message: 'try later' }],
    swapped: 'refuses: InvalidCiphertextException',
  },
  {
    by: 'vault:transit/countersign',
    name: /^MASTER_KEY: Vault \(http:\/\/127\.0\.0\.1:\d+, key transit\/countersign\)/,
    refusal: [403, { errors: ['1 error occurred:\n\t* permission denied\n\n'] }],
    refused: 'refuses: 403, 1 error occurred: * permission denied',
    away: [503, { errors: ['Vault is sealed'] }],
    swapped: 'refuses: 400, cipher: message authentication failed',
  },
] as const)('$by', ({ by, name, refusal, refused, away, swapped }) => {
  const wrap = (purpose: 'MASTER_KEY' | 'AUDIT_KEY' = 'MASTER_KEY') =>
    wrapKey(services.env, by, PLAIN, purpose);
  const faultOf = (keys: Record<string, string>) =>
    withKeys(inProduction(keys), 'worker').catch((error: Error) => error) as Promise<Error>;

  it('wraps a key into a text that shows nothing of it, another one each time', async () => {
    const [first, second] = [await wrap(), await wrap()];
    expect(first.startsWith(`${by}:`)).toBe(true);
    expect(first).not.toBe(second);
    expect(first).not.toContain(PLAIN.toString('base64').slice(0, 8));
  });

  it('gives it back for its setting, beside keys that are not wrapped, in their order', async () => {
    const wrapped = await wrap();
    const env = await withKeys(inProduction({ MASTER_KEY: `${OTHER},${wrapped}` }), 'api');
    const { masterKeys } = loadConfig(env, { role: 'api' });
    expect(masterKeys.map(({ key }) => Buffer.from(key).toString('base64'))).toEqual([
      OTHER,
      PLAIN.toString('base64'),
    ]);
  });

  it('gives the key of one setting to no other', async () => {
    const fault = await faultOf({ AUDIT_KEY: await wrap() });
    expect(fault).toBeInstanceOf(ConfigError);
    expect(fault.message).toMatch(/^AUDIT_KEY: /);
    expect(fault.message).toContain(swapped);
  });

  it('is not asked by an api for the key of the audit log', async () => {
    const env = inProduction({ MASTER_KEY: OTHER, AUDIT_KEY: await wrap('AUDIT_KEY') });
    const before = services.asked();
    expect(loadConfig(await withKeys(env, 'api'), { role: 'api' }).auditKeys).toEqual([]);
    expect(services.asked()).toBe(before);
    expect(loadConfig(await withKeys(env, 'worker'), { role: 'worker' }).auditKeys).toHaveLength(1);
    expect(services.asked()).toBe(before + 1);
  });

  it('is asked once when it refuses, and the fault names setting, service and key', async () => {
    const wrapped = await wrap();
    const before = services.asked();
    services.answer(refusal);
    const fault = await faultOf({ MASTER_KEY: wrapped });
    expect(fault).toBeInstanceOf(ConfigError);
    expect(fault.message).toMatch(name);
    expect(fault.message).toContain(refused);
    expect(services.asked()).toBe(before + 1);
  });

  it('is asked four times while it is away', async () => {
    const wrapped = parseWrappedKey(await wrap());
    if (wrapped === undefined) throw new Error('is not of the form');
    const settings = vaultOf(readVariables(services.env).read);
    const unwrap = () =>
      askKeyService(
        wrapped,
        settings,
        (service) => service.unwrap(wrapped.key, wrapped.ciphertext, 'MASTER_KEY'),
        1,
      );
    services.answer(away, away, away);
    expect(Buffer.from(await unwrap())).toEqual(PLAIN);
    const before = services.asked();
    services.answer(away, away, away, away);
    const fault = await unwrap().catch((error: unknown) => error);
    expect(fault).toMatchObject({
      isAway: true,
      message: expect.stringContaining('is away, asked 4 times: '),
    });
    expect(fault).toBeInstanceOf(KeyServiceError);
    expect(services.asked()).toBe(before + 4);
  });

  it('is no setting that is wrong when nobody listens: a supervisor shall start the process again', async () => {
    const wrapped = await wrap();
    await services.close();
    const fault = await faultOf({ MASTER_KEY: wrapped });
    expect(fault).toBeInstanceOf(LocalStackError);
    expect(fault.message).toMatch(/^MASTER_KEY: .* is away, asked 4 times: .*ECONNREFUSED/);
  });

  it.each([
    [[], 'MASTER_KEY'],
    [['--audit'], 'AUDIT_KEY'],
  ])('makes a new key by master-key wrap %j, and prints it wrapped alone', async (options, setting) => {
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    await createProgram({ env: services.env, print, fail: () => undefined }).parseAsync(
      ['master-key', 'wrap', by, ...options],
      { from: 'user' },
    );
    const [line = ''] = lines;
    expect(lines).toHaveLength(1);
    const env = await withKeys(inProduction({ [setting]: line }), 'worker');
    expect(Buffer.from(env[setting] ?? '', 'base64')).toHaveLength(32);
    expect(line).not.toContain(env[setting]);
  });

  it('refuses a key that is not 32 bytes', async () => {
    const short = await wrapKey(services.env, by, PLAIN.subarray(16), 'MASTER_KEY');
    expect((await faultOf({ MASTER_KEY: short })).message).toContain('gave 16 bytes, and not 32');
  });
});

it('Vault needs an address and a token, and says which of them is missing', async () => {
  const wrap = (env: Record<string, string>) =>
    wrapKey(env, 'vault:transit/countersign', PLAIN, 'MASTER_KEY').catch((error: Error) => error.message);
  expect(await wrap({})).toBe('VAULT_ADDR: is required for a key that Vault has wrapped');
  expect(await wrap({ VAULT_ADDR: services.url })).toBe(
    'VAULT_TOKEN: is required for a key that Vault has wrapped',
  );
  const { env } = services;
  expect(await wrap({ ...env, VAULT_CACERT: '/none' })).toMatch(/^VAULT_CACERT: cannot be read/);
  expect(await wrap({ ...env, VAULT_TOKEN: 'another' })).toMatch(/refuses: 403, permission denied$/);
});

it.each([
  'awskms',
  'awskms:',
  'awskms:a b',
  'vault:transit',
  'vault:/a',
  'vault:a//b',
  'vault:../sys',
  'gcp:a',
])('a key is not named %j', (text) => expect(parseServiceKey(text)).toBeUndefined());
