// What an operator reads about each wrong setting: one line that begins with its name.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig, type Role } from '../../../src/platform/config.ts';
import { CONFIG_VARIABLES } from '../../../src/platform/config-variables.ts';
import { temporaryFolder } from '../../app/local/temporary-folder.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER = Buffer.alloc(32, 8).toString('base64');
const NO_KEY = 'each key must be 32 bytes in base64, or awskms:<key>:… or vault:<key>:… of master-key wrap';

function refusal(env: Record<string, string>, role: Role = 'api'): string {
  try {
    loadConfig({ MASTER_KEY: KEY, AUDIT_KEY: OTHER, ...env }, { role });
    return 'accepted';
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

describe('a wrong setting', () => {
  it.each([
    ['PORT', 'eighty', 'must be a whole number from 0 to 65535'],
    ['PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['PORT', '0x50', 'must be a whole number from 0 to 65535'],
    ['METRICS_PORT', '-1', 'must be a whole number from 0 to 65535'],
    ['DATABASE_POOL', '1', 'must be a whole number from 2 to 500'],
    ['CHALLENGE_LIFETIME', '1e2', 'must be a whole number from 10 to 3600'],
    ['RATE_LIMIT_TENANT', 'off', 'must be a whole number from 0 to 1000000000'],
    ['NODE_ENV', 'banana', 'must be one of production, development, test'],
    ['LOG_FORMAT', 'xml', 'must be one of pretty, json'],
    ['WORKER_BUILD_ID', 'build 7', 'must be 1 to 128 letters, digits, dots, hyphens and underscores'],
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'must be one of otlp, none'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be one of http/json'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'must be an absolute http or https URL'],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      'token',
      'must be name=value pairs in ASCII, separated by commas and percent-encoded',
    ],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      'a=%0a',
      'must be name=value pairs in ASCII, separated by commas and percent-encoded',
    ],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      'a=%zz',
      'must be name=value pairs in ASCII, separated by commas and percent-encoded',
    ],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'must be a number from 0 to 1'],
    ['PUBLIC_URL', 'localhost', 'must be an absolute http or https URL'],
    ['PUBLIC_URL', 'https://a.example/b', 'must be an origin: no path, query, fragment or credentials'],
    ['TENANT_URL', 'https://a.example', 'must be an http or https URL that contains {tenant}'],
    ['ERROR_TYPE_BASE', 'errors', 'must be an absolute http or https URL'],
    ['TEMPORAL_UI_URL', 'localhost:8233', 'must be an absolute http or https URL'],
    ['DATABASE_URL', 'mysql://a', 'must be a URL such as postgres://user:password@host:5432/database'],
    ['DATABASE_URL', 'postgres://[', 'must be a URL such as postgres://user:password@host:5432/database'],
    ['DATABASE_URL', 'postgres://u:p,w@a,b/x', 'must have one host, which leads to the primary'],
    ['TRUSTED_PROXIES', '10.0.0.0', '"10.0.0.0" is not a CIDR block such as 10.0.0.0/8'],
    ...[
      'dns.example',
      '192.0.2.53:0',
      '192.0.2.53:70000',
      '192.0.2',
      '[192.0.2.53]:53',
      '2001:db8::53:x',
    ].map((server) => [
      'ANCHOR_DNS_SERVERS',
      server,
      `"${server}" is not an IP address such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:5353`,
    ]),
    ['ANCHOR_HTTPS_PORT', '0', 'must be a whole number from 1 to 65535'],
    ...[
      'c2hvcnQ=',
      'awskms:',
      'awskms:alias/a:b:',
      'vault:transit:vault:v1:YQ==',
      'gcp:a:YQ==',
      `a:${KEY}`,
    ].map((text) => ['MASTER_KEY', text, NO_KEY]),
    ['AUDIT_KEY', 'c2hvcnQ=', NO_KEY],
    ['MASTER_KEY', ',', 'must hold a key of 32 bytes in base64'],
    ['DEFAULT_TENANT', 'Not A Slug', 'must be a tenant slug (a DNS label)'],
    ...['http://a:7233', 'a:b', ':7233', 'a:0', 'a:70000', 'a b:7233', 'a:7233/x'].map((address) => [
      'TEMPORAL_ADDRESS',
      address,
      'must be host:port, such as temporal.example:7233',
    ]),
  ])('%s=%s: %s', (variable = '', value = '', message = '') => {
    expect(refusal({ [variable]: value })).toBe(`${variable}: ${message}`);
  });

  it.each(CONFIG_VARIABLES)('%s is never told in the words of the schema library', (variable) => {
    for (const value of [' ', '-', 'NaN', '{}'])
      expect(refusal({ [variable]: value })).not.toMatch(/Invalid|expected|received/i);
  });

  it.each(['localhost:7233', '127.0.0.1:7233', '[::1]:7233', 'temporal', 'a.b-c.example:443'])(
    'TEMPORAL_ADDRESS=%s is none',
    (address) => expect(refusal({ TEMPORAL_ADDRESS: address })).toBe('accepted'),
  );
});

describe('several wrong settings', () => {
  it('are reported together, a line each', () => {
    expect(refusal({ PORT: 'eighty', LOG_FORMAT: 'xml', TRUSTED_PROXIES: 'a b' }).split('\n').sort()).toEqual(
      [
        'LOG_FORMAT: must be one of pretty, json',
        'PORT: must be a whole number from 0 to 65535',
        'TRUSTED_PROXIES: "a" is not a CIDR block such as 10.0.0.0/8',
      ],
    );
  });

  it('are reported with those that a role needs, or that do not fit each other', () => {
    const env = { MASTER_KEY: '', PORT: 'eighty', NODE_ENV: 'production', ANCHOR_HTTPS_PORT: '8443' };
    expect(
      refusal({ ...env, DATABASE_URL: 'mysql://a' })
        .split('\n')
        .sort(),
    ).toEqual([
      'ANCHOR_HTTPS_PORT: must be 443 when NODE_ENV=production',
      'DATABASE_URL: must be a URL such as postgres://user:password@host:5432/database',
      'MASTER_KEY: is required when NODE_ENV=production',
      'PORT: must be a whole number from 0 to 65535',
    ]);
  });

  it('of one machine are all its ports', () => {
    expect(refusal({ PORT: '7233', TEMPORAL_UI_PORT: '7233' }, 'start').split('\n')).toEqual([
      'TEMPORAL_PORT: is needed for PORT too: choose another port',
      'TEMPORAL_UI_PORT: is needed for PORT too: choose another port',
    ]);
  });

  it('hide no fault of a setting that can be read, and add none', () => {
    expect(refusal({ MASTER_KEY: 'short', PORT: 'eighty' }).split('\n')).toHaveLength(2);
    expect(refusal({ TEMPORAL_ADDRESS: 'a:b', PORT: '7233' }, 'start').split('\n')).toHaveLength(1);
  });
});

describe('where anchors are looked for', () => {
  it('may be DNS servers by address and port', () => {
    const servers = '192.0.2.53, 192.0.2.54:5353 2001:db8::53 [2001:db8::53]:5353';
    expect(loadConfig({ ANCHOR_DNS_SERVERS: servers }, { role: 'migrate' }).anchors).toEqual({
      dnsServers: ['192.0.2.53', '192.0.2.54:5353', '2001:db8::53', '[2001:db8::53]:5353'],
      httpsPort: 443,
    });
  });

  it('is port 443 in production', () =>
    expect(refusal({ ANCHOR_HTTPS_PORT: '8443', NODE_ENV: 'production' }, 'migrate')).toBe(
      'ANCHOR_HTTPS_PORT: must be 443 when NODE_ENV=production',
    ));
});

describe('MASTER_KEY', () => {
  it.each(['api', 'worker', 'command'] as const)('is required for %s', (role) => {
    const database = { DATABASE_URL: 'postgres://localhost/x' };
    expect(refusal({ MASTER_KEY: '', ...database }, role)).toBe('MASTER_KEY: is required');
    expect(refusal({ MASTER_KEY: '' }, role)).toMatch(/^DATABASE_URL: is required/);
    expect(refusal({ MASTER_KEY: '', NODE_ENV: 'production', ...database }, role)).toBe(
      'MASTER_KEY: is required when NODE_ENV=production',
    );
  });

  it('may be wrapped, beside others that are not', () => {
    const wrapped = [
      'awskms:arn:aws:kms:eu-west-1:111122223333:alias/a:YQ==',
      'vault:a/b/transit/c:vault:v2:YQ==',
    ];
    const { masterKeys } = loadConfig({ MASTER_KEY: [...wrapped, KEY].join() }, { role: 'api' });
    expect(masterKeys.map(({ key }) => Buffer.from(key).toString('base64'))).toEqual([KEY]);
  });

  it('is not for migrate', () => expect(refusal({ MASTER_KEY: '' }, 'migrate')).toBe('accepted'));
});

describe('AUDIT_KEY', () => {
  const database = { DATABASE_URL: 'postgres://localhost/x' };

  it('is required for a worker alone', () => {
    const of = (role: Role) => refusal({ AUDIT_KEY: '', ...database }, role);
    expect(of('worker')).toBe('AUDIT_KEY: is required: a worker seals the audit log with it');
    expect(['api', 'migrate', 'command'].map((role) => of(role as Role))).toEqual(Array(3).fill('accepted'));
  });

  it('begins with a key that seals no secret; what signed the log of before may stand behind it', () => {
    expect(refusal({ AUDIT_KEY: `${KEY},${OTHER}`, ...database }, 'worker')).toBe(
      'AUDIT_KEY: must begin with a key that is not in MASTER_KEY',
    );
    expect(refusal({ AUDIT_KEY: `${OTHER},${KEY}`, ...database }, 'worker')).toBe('accepted');
  });
});

describe('WEBHOOK_CA_FILE', () => {
  it.each(['start', 'api', 'worker'] as const)('must be certificates that can be read, for %s', (role) => {
    const file = join(temporaryFolder(), 'ca.pem');
    expect(refusal({ WEBHOOK_CA_FILE: file }, role)).toMatch(/^WEBHOOK_CA_FILE: cannot be read: ENOENT/);
    writeFileSync(file, 'nonsense');
    expect(refusal({ WEBHOOK_CA_FILE: file }, role)).toBe(
      `WEBHOOK_CA_FILE: ${file} does not begin with a certificate in PEM form`,
    );
    writeFileSync(file, rootCertificates[0] ?? '');
    expect(refusal({ WEBHOOK_CA_FILE: file }, role)).toBe('accepted');
  });
});

describe('the ports of one machine', () => {
  it.each([
    [{ PORT: '18181', TEMPORAL_PORT: '18181' }, 'TEMPORAL_PORT: is needed for PORT too: choose another port'],
    [{ TEMPORAL_UI_PORT: '7233' }, 'TEMPORAL_UI_PORT: is needed for TEMPORAL_PORT too: choose another port'],
    [{ METRICS_PORT: '8079' }, 'METRICS_PORT: is needed for PORT too: choose another port'],
    [
      { METRICS_PORT: '7232' },
      'TEMPORAL_PORT: is needed for METRICS_PORT too (which takes 2 ports from 7232): choose another port',
    ],
    [{ METRICS_PORT: '65535' }, 'METRICS_PORT: leaves no room for 2 ports, one a process'],
    [{ PORT: '7233', TEMPORAL_ADDRESS: 'elsewhere:7233' }, 'accepted'],
    [{}, 'accepted'],
  ])('%j: %s', (env, message) => {
    expect(refusal({ ...env } as Record<string, string>, 'start')).toBe(message);
  });
});
