// Holds the chart against the settings, the image, the metrics and the alerts, as text: needs no Helm.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from '../../src/app/command-line.ts';
import { CONFIG_VARIABLES, SECRET_VARIABLES, VARIABLES } from '../../src/platform/config-variables.ts';

const CHART = 'deploy/helm/countersign';
const read = (file: string) => readFileSync(join(CHART, file), 'utf8');
const templates = Object.fromEntries(
  readdirSync(join(CHART, 'templates')).map((name) => [name, read(`templates/${name}`)]),
);
const whole = Object.values(templates).join('\n');
const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, first = '']) => first);

type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  propertyNames?: { anyOf: [{ enum: string[] }, { pattern: string }] };
};
type Tree = { [name: string]: Tree | string | number | boolean | unknown[] };
const values = parse(read('values.yaml')) as Tree;
const schema = JSON.parse(read('values.schema.json')) as Schema;

/** Maps whose keys the chart does not know. */
const FREE = ['settings', 'resources', 'annotations', 'labels'];
const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const pathsOfValues = (tree: Tree, before = ''): string[] =>
  Object.entries(tree).flatMap(([name, value]) => [
    before + name,
    ...(isTree(value) && !FREE.includes(name) ? pathsOfValues(value, `${before}${name}.`) : []),
  ]);
const pathsOfSchema = (node: Schema, before = ''): string[] =>
  Object.entries(node.properties ?? {}).flatMap(([name, inner]) => [
    before + name,
    ...(FREE.includes(name) ? [] : pathsOfSchema(inner, `${before}${name}.`)),
  ]);

describe('the values of the chart', () => {
  it('are each explained by a comment above', () => {
    const lines = read('values.yaml').split('\n');
    const unexplained = lines.filter(
      (line, index) =>
        /^ *\w+:/.test(line) && !/^ *cidr:|^ *except:/.test(line) && !lines[index - 1]?.includes('# '),
    );
    expect(unexplained).toEqual([]);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });

  it('are those of the schema, which refuses a misspelt one', () => {
    expect(pathsOfSchema(schema).sort()).toEqual([...pathsOfValues(values), 'global'].sort());
    const open = JSON.stringify(schema.properties?.worker);
    expect(open.match(/"properties"/g)).toHaveLength(
      open.match(/"additionalProperties":false/g)?.length ?? 0,
    );
  });

  it('are each used by a template', () => {
    const leaves = pathsOfValues(values).filter(
      (path) => !pathsOfValues(values).some((other) => other.startsWith(`${path}.`)),
    );
    expect(leaves.length).toBeGreaterThan(25);
    // `api` and `worker` share a template, and so do the ways to Postgres and Temporal.
    for (const path of leaves) expect(whole, path).toContain(`.${path.split('.').at(-1)}`);
  });

  it('name settings that exist, no secret, and none that the chart decides', () => {
    const [names, others] = schema.properties?.settings?.propertyNames?.anyOf ?? [];
    const decided = [...found(whole, /\{ name: ([A-Z_]+), value/g), 'LOG_FORMAT'];
    const local = ['DATA_DIR', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
    const ofTenants = Object.keys(VARIABLES['Commands of a tenant']);
    expect(decided.sort()).toEqual(['LOG_FORMAT', 'METRICS_PORT', 'NODE_ENV', 'PORT', 'WORKER_BUILD_ID']);
    expect(names?.enum.toSorted()).toEqual(
      CONFIG_VARIABLES.filter(
        (name) => ![...decided, ...local, ...ofTenants, ...SECRET_VARIABLES].includes(name),
      ).toSorted(),
    );
    // What Temporal's own tools read of the environment beside them.
    const ofTemporal = new RegExp(others?.pattern ?? '');
    expect('TEMPORAL_TLS_SERVER_CA_CERT_PATH').toMatch(ofTemporal);
    expect('AWS_SECRET_ACCESS_KEY').not.toMatch(ofTemporal);
    for (const name of SECRET_VARIABLES) expect(name).not.toMatch(ofTemporal);
    for (const name of Object.keys(values.settings as Tree)) expect(CONFIG_VARIABLES).toContain(name);
  });

  it('mount secrets that are settings', () => {
    const { service, audit, owner } = values.secrets as { [name: string]: { keys: string[] } };
    const keys = [service, audit, owner].flatMap((secret) => secret?.keys ?? []);
    expect(SECRET_VARIABLES).toEqual(expect.arrayContaining(keys));
    expect(keys).toEqual(
      expect.arrayContaining(['MASTER_KEY', 'AUDIT_KEY', 'DATABASE_URL', 'DATABASE_ROLE_PASSWORD']),
    );
  });
});

describe('the templates of the chart', () => {
  it('use values that exist', () => {
    const known = pathsOfValues(values);
    const used = found(whole, /\$?(?:\.root)?\.Values\.([\w.]+)/g);
    expect(used.length).toBeGreaterThan(15);
    expect(used.filter((path) => !known.includes(path) && path !== 'settings.PUBLIC_URL')).toEqual([]);
  });

  it('run commands that exist, as the user of the image, in its version', () => {
    const commands = createProgram({ env: {}, print: () => undefined, fail: () => undefined }).commands.map(
      (command) => command.name(),
    );
    const roles = found(whole, /"role" "(\w+)"/g);
    expect(roles.sort()).toEqual(['api', 'migrate', 'worker']);
    expect(commands).toEqual(expect.arrayContaining(roles));
    const [user] = found(readFileSync('Dockerfile', 'utf8'), /^USER (\d+)$/gm);
    expect(found(whole, /runAsUser: (\d+)/g)).toEqual([user]);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(parse(read('Chart.yaml'))).toMatchObject({ appVersion: version, version });
  });

  it('probe ports that the processes open, which the image exposes', () => {
    const env = Object.fromEntries(
      [...whole.matchAll(/\{ name: (PORT|METRICS_PORT), value: "(\d+)" \}/g)].map(([, name, port]) => [
        name,
        port,
      ]),
    );
    const [exposed = ''] = found(readFileSync('Dockerfile', 'utf8'), /^EXPOSE (.+)$/gm);
    expect([env.PORT, env.METRICS_PORT]).toEqual(exposed.split(' '));
    for (const [name, port] of [
      ['http', env.PORT],
      ['metrics', env.METRICS_PORT],
    ])
      expect(new Set(found(whole, new RegExp(`name: ${name}, containerPort: (\\d+)`, 'g')))).toEqual(
        new Set([port]),
      );
    for (const path of found(whole, /httpGet: \{ path: (\S+),/g))
      expect(['/healthz', '/readyz']).toContain(path);
  });

  it('scale workers by a metric and a label that workers have', () => {
    const [name = '', value = ''] =
      /metric: \{ name: (\w+), selector: \{ matchLabels: \{ endpoints: (\w+) \} \} \}/
        .exec(templates['disruption.yaml'] ?? '')
        ?.slice(1) ?? [];
    const page = readFileSync('docs/operations/metrics.md', 'utf8');
    expect(page).toContain(`| \`${name}\` | gauge | \`endpoints\` |`);
    expect(page).toContain(`\`${value}\` endpoints`);
    expect(found(read('values.yaml'), /\((countersign_\w+)\)/g)).toEqual([name]);
  });

  it('have Prometheus scrape with the labels that the alerts ask for', () => {
    const monitor = templates['servicemonitor.yaml'] ?? '';
    const rules = readFileSync('deploy/prometheus/rules.yml', 'utf8');
    const jobs = new Set(found(rules, /job="([\w-]+)"/g));
    const [prefix = '-'] = found(monitor, /replacement: ([\w-]+)\$1, targetLabel: job/g);
    // The disks are those of docker-compose.yml: in a cluster Postgres is somewhere else.
    expect(jobs).toEqual(new Set(['api', 'worker', 'disks'].map((role) => prefix + role)));
    expect(monitor).toMatch(/pod_label_app_kubernetes_io_component\], targetLabel: role \}/);
    expect(found(whole, /app\.kubernetes\.io\/component: (api|worker)$/gm)).toEqual(
      expect.arrayContaining(['api', 'worker']),
    );
  });
});
