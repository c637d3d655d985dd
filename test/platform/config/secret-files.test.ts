// Every setting with a secret can come from a file: for the roles, and for each command of the command line.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/app/command-line.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { readSecretFiles } from '../../../src/platform/config-secrets.ts';
import { CONFIG_VARIABLES, SECRET_VARIABLES } from '../../../src/platform/config-variables.ts';
import { temporaryFolder } from '../../app/local/temporary-folder.ts';

const KEYS = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64')).join(',');

/** A value of each secret that its form allows. */
const VALUES: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://service:of-the-test@localhost:5432/countersign',
  DATABASE_ROLE_PASSWORD: 'of the test, with spaces ',
  TEMPORAL_API_KEY: 'key-of-the-test',
  TEMPORAL_TLS_CLIENT_KEY_DATA: '-----BEGIN PRIVATE KEY-----\nof the test\n-----END PRIVATE KEY-----\n',
  MASTER_KEY: KEYS,
  AUDIT_KEY: Buffer.alloc(32, 160).toString('base64'),
  VAULT_TOKEN: 'hvs.of-the-test',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-test',
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20of-the-test',
  COUNTERSIGN_CLIENT_SECRET: 'of-the-test',
  WEBHOOK_SECRET: 'whsec_of-the-test',
};
/** Gives each secret a place in the settings. */
const OTHERS = { DATABASE_ROLE: 'service', OTEL_TRACES_EXPORTER: 'otlp' };

function write(content: string): string {
  const file = join(temporaryFolder(), 'secret');
  writeFileSync(file, content);
  return file;
}

/** What `countersign token` says of its environment. */
async function refusal(env: Record<string, string>): Promise<string> {
  const program = createProgram({ env, print: () => undefined, fail: () => undefined }).exitOverride();
  const fault = await program.parseAsync(['token'], { from: 'user' }).catch((error: unknown) => error);
  return fault instanceof Error ? `${fault.name} ${fault.message}` : 'accepted';
}

it('the secrets are these, and a name of a file is no other setting', () => {
  expect([...SECRET_VARIABLES].sort()).toEqual(Object.keys(VALUES).sort());
  // A new setting that sounds like a secret is marked as one.
  const sounding = CONFIG_VARIABLES.filter((name) =>
    /SECRET|PASSWORD|TOKEN(?!_LIFETIME)|_HEADERS|MASTER_KEY|AUDIT_KEY|API_KEY|KEY_DATA|DATABASE_URL/.test(
      name,
    ),
  );
  expect(sounding.sort()).toEqual(Object.keys(VALUES).sort());
  for (const name of SECRET_VARIABLES) expect(CONFIG_VARIABLES).not.toContain(`${name}_FILE`);
});

describe.each(Object.entries(VALUES))('%s', (name, value) => {
  const inFile = `${name}_FILE`;
  const settings = (env: Record<string, string>) => loadConfig(readSecretFiles(env), { role: 'migrate' });

  it.each(['', '\n', '\r\n'])('is the content of a file, without one final newline (%j)', (end) => {
    const env = readSecretFiles({ ...OTHERS, [inFile]: write(`${value}${end}`) });
    // A value that ends with a newline loses it when the file has no other.
    expect(env).toEqual({ ...OTHERS, [name]: end === '' ? value.replace(/\n$/, '') : value });
  });

  it('gives the same settings from a file', () => {
    expect(settings({ ...OTHERS, [inFile]: write(`${value}\n`) })).toEqual(
      settings({ ...OTHERS, [name]: value }),
    );
  });

  it('is not read from a file that an empty variable names', async () => {
    expect(readSecretFiles({ [inFile]: '', [name]: value })[name]).toBe(value);
  });

  it('is wrong when it is set beside its file, and the fault names both', async () => {
    expect(await refusal({ [name]: value, [inFile]: write(value) })).toBe(
      `ConfigError ${name}: is set, and ${inFile} too: keep one of them`,
    );
    expect(readSecretFiles({ [name]: '', [inFile]: write(value) })).toHaveProperty(
      name,
      value.replace(/\n$/, ''),
    );
  });

  it('is wrong when its file cannot be read or is empty', async () => {
    const folder = temporaryFolder();
    expect(await refusal({ [inFile]: join(folder, 'none') })).toBe(
      `ConfigError ${inFile}: ${folder}/none cannot be read: ENOENT: no such file or directory`,
    );
    expect(await refusal({ [inFile]: folder })).toBe(
      `ConfigError ${inFile}: ${folder} cannot be read: EISDIR: illegal operation on a directory`,
    );
    for (const content of ['', '\n']) {
      const file = write(content);
      expect(await refusal({ [inFile]: file })).toBe(`ConfigError ${inFile}: ${file} is empty`);
    }
  });

  it('is not shown where it stands in place of a path', async () => {
    expect(await refusal({ [inFile]: value })).toBe(`ConfigError ${inFile}: must be an absolute path`);
  });

  it('is not shown when the content of its file is wrong', () => {
    const wrong = 'wrong-\u0000-content';
    const read = () => settings({ ...OTHERS, [inFile]: write(wrong) });
    try {
      read();
    } catch (error) {
      expect((error as Error).message).toMatch(new RegExp(`^${name}: `));
      expect((error as Error).message).not.toContain('wrong-');
    }
  });
});

it('several faults of files are reported together, with the other wrong settings', async () => {
  const env = { MASTER_KEY_FILE: '/none/a', DATABASE_URL_FILE: '/none/b', PORT: 'eighty' };
  expect((await refusal(env)).replace('ConfigError ', '').split('\n').sort()).toEqual([
    'DATABASE_URL_FILE: /none/b cannot be read: ENOENT: no such file or directory',
    'MASTER_KEY_FILE: /none/a cannot be read: ENOENT: no such file or directory',
    'PORT: must be a whole number from 0 to 65535',
  ]);
});

it('a file of another setting stays what it is', () => {
  const env = { WEBHOOK_CA_FILE: '/none/ca.pem', TEMPORAL_CONFIG_FILE: '/none/temporal.toml' };
  expect(readSecretFiles(env)).toEqual(env);
});

it('a command reads its secret from a file', async () => {
  const lines: string[] = [];
  const sign = (env: Record<string, string>) =>
    createProgram({
      env,
      print: (line) => lines.push(line),
      fail: () => undefined,
      readInput: async () => Buffer.from('{}'),
    }).parseAsync(['sign', '--type', 'a.b', '--delivery-id', 'one', '--timestamp', '1767225600'], {
      from: 'user',
    });
  await sign({ WEBHOOK_SECRET: 'whsec_a' });
  const given = lines.splice(0);
  await sign({ WEBHOOK_SECRET_FILE: write('whsec_a\n') });
  expect(lines).toEqual(given);
  expect(lines.length).toBeGreaterThan(0);
});
