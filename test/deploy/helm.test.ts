// The chart as Helm renders it, judged by the schemas of Kubernetes, and what each process gets. Where Helm or
// kubernetes-validate is absent only chart.test.ts looks at the chart; `npm run judges -- kubernetes` installs both.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/platform/config.ts';
import { DEFAULT_TIMEOUT_MS } from '../../src/webhooks/deliveries/delivery.client.ts';
import { readBlocks } from '../documentation/pages.ts';

type Rendered = { readonly text: string; readonly error: string };
type Fault = readonly [file: string, right: string, wrong: string];
const {
  INSTALLATIONS,
  MISSPELT,
  render,
  renderMisspelt,
  validate,
}: {
  INSTALLATIONS: {
    readonly least: { readonly image: object; readonly settings: object };
    readonly whole: { readonly worker: object; readonly networkPolicy: { readonly metricsFrom: object[] } };
  };
  MISSPELT: readonly Fault[];
  render(helm: string, values: object, chart?: string, release?: string): Rendered;
  renderMisspelt(helm: string, values: object, fault: Fault): Rendered;
  validate(validator: string, text: string): { readonly passed: number; readonly faults: string[] };
} = await import(resolve('test/deploy/rendered-chart.mjs'));

const [helm, validator] = ['helm', 'kubernetes-validate'].map((name) => {
  const { stdout } = spawnSync('which', [name], { encoding: 'utf8' });
  return stdout?.trim() ?? '';
}) as [string, string];

type Container = {
  readonly args: string[];
  readonly env: { name: string; value: string }[];
  readonly ports?: { name: string; containerPort: number }[];
  readonly readinessProbe: { httpGet: object };
  readonly volumeMounts: { mountPath: string }[];
  readonly securityContext: object;
  readonly lifecycle?: { preStop: { exec: { command: [string, string] } } };
};
type Source = { secret: { name: string; items: { key: string; path: string }[] } };
type Pod = {
  readonly containers: [Container];
  readonly terminationGracePeriodSeconds?: number;
  readonly volumes: [{ name: string; projected: { sources: Source[] } }];
  readonly topologySpreadConstraints?: { topologyKey: string }[];
};
type Manifest = {
  readonly kind: string;
  readonly metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  readonly spec: {
    selector?: { matchLabels?: Record<string, string> };
    template?: { metadata: { labels: Record<string, string>; annotations?: object }; spec: Pod };
    podSelector?: { matchLabels: Record<string, string> };
    scaleTargetRef?: { name: string };
    replicas?: number;
    ingress?: unknown;
    egress?: unknown[];
  };
};

function manifests(values: object): Manifest[] {
  const { text, error } = render(helm, values);
  expect(error).toBe('');
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}
const withPods = (values: object) =>
  manifests(values).flatMap(({ spec: { template }, metadata }) =>
    template === undefined ? [] : [{ ...template, owner: metadata }],
  );
const podOf = (values: object, role: string) => {
  const found = withPods(values).find(({ spec }) => spec.containers[0].args[0] === role);
  if (found === undefined) throw new Error(`there is no ${role}`);
  return { ...found, container: found.spec.containers[0] };
};
const environment = ({ env }: Container) =>
  Object.fromEntries(env.map(({ name, value }): [string, string] => [name, value]));

const ROLES = ['api', 'worker', 'migrate'] as const;

describe.skipIf(helm === '' || validator === '')('the chart, by helm and kubernetes-validate', () => {
  it.each(Object.entries(INSTALLATIONS))('is what a cluster takes, with the values "%s"', (_, values) => {
    const { passed, faults } = validate(validator, render(helm, values).text);
    expect(faults).toEqual([]);
    expect(passed).toBeGreaterThanOrEqual(9);
  });

  it('is what a cluster takes, with the values of docs/kubernetes.md', () => {
    const [, page = ''] = /```yaml\n(.*?)```/s.exec(readFileSync('docs/kubernetes.md', 'utf8')) ?? [];
    const { passed, faults } = validate(validator, render(helm, parse(page) as object).text);
    expect([passed, faults]).toEqual([10, []]);
  });

  it.each(MISSPELT)('is refused with a misspelt field in %s: %s as %s', (...fault) => {
    const { text } = renderMisspelt(helm, INSTALLATIONS.least, fault);
    expect(validate(validator, text).faults.join('\n')).toMatch(/unexpected|not allowed|Additional/i);
  });

  it.each([
    [{}, /(?=.*image\/repository)(?=.*PUBLIC_URL)(?=.*TEMPORAL_ADDRESS)/s],
    [{ ...INSTALLATIONS.least, worker: { replica: 3 } }, /'replica' not allowed/],
    [
      { ...INSTALLATIONS.least, settings: { ...INSTALLATIONS.least.settings, LOGLEVEL: 'info' } },
      /invalid propertyName 'LOGLEVEL'/,
    ],
    [
      { ...INSTALLATIONS.least, settings: { ...INSTALLATIONS.least.settings, DATABASE_POOL: 10 } },
      /DATABASE_POOL': got number, want string/,
    ],
  ])('is not rendered with the values %j', (values, message) =>
    expect(render(helm, values).error).toMatch(message),
  );

  it.each(ROLES)('gives %s settings with which it would start, and each secret as a mounted file', (role) => {
    for (const values of Object.values(INSTALLATIONS)) {
      const { spec, container } = podOf(values, role);
      const given = environment(container);
      const named = Object.entries(given).filter(([name]) => name.endsWith('_FILE'));
      const mounted = spec.volumes[0].projected.sources.flatMap(({ secret }) =>
        secret.items.map(({ path }) => `/secrets/${path}`),
      );
      // A path that two Secrets claim is an error of the kubelet.
      expect(new Set(mounted).size).toBe(mounted.length);
      expect(mounted).toEqual(expect.arrayContaining(named.map(([, path]) => path)));
      const secrets = {
        DATABASE_URL: 'postgres://a@b/c',
        MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
        AUDIT_KEY: Buffer.alloc(32, 160).toString('base64'),
      };
      const config = loadConfig({ HOST: '0.0.0.0', ...given, ...secrets }, { role });
      expect(config).toMatchObject({ nodeEnv: 'production', metricsHost: '0.0.0.0', metricsPort: 9_464 });
      const ports = Object.fromEntries(
        (container.ports ?? []).map((port) => [port.name, port.containerPort]),
      );
      if (role !== 'migrate') expect(ports.metrics).toBe(config.metricsPort);
      if (role === 'api') expect(ports.http).toBe(config.port);
    }
  });

  it('gives the secrets of the owner to the migration alone, and the key of the audit log to no api', () => {
    const secretsOf = (role: string) =>
      podOf(INSTALLATIONS.least, role).spec.volumes[0].projected.sources.map(({ secret }) => [
        secret.name,
        secret.items.map(({ key }) => key).join(),
      ]);
    expect(secretsOf('api')).toEqual([['countersign-service', 'DATABASE_URL,MASTER_KEY']]);
    expect(secretsOf('worker')).toEqual([
      ['countersign-service', 'DATABASE_URL,MASTER_KEY'],
      ['countersign-audit', 'AUDIT_KEY'],
    ]);
    expect(secretsOf('migrate')).toEqual([
      ['countersign-service', 'MASTER_KEY'],
      ['countersign-audit', 'AUDIT_KEY'],
      ['countersign-owner', 'DATABASE_URL,DATABASE_ROLE_PASSWORD'],
    ]);
  });

  it('gives no process more than it needs', () => {
    for (const values of Object.values(INSTALLATIONS))
      for (const { spec } of withPods(values)) {
        expect(spec).toMatchObject({
          automountServiceAccountToken: false,
          shareProcessNamespace: true,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 1_000,
            seccompProfile: { type: 'RuntimeDefault' },
          },
        });
        expect(spec.containers[0].securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
  });

  it('ends the processes with time for what is under way', () => {
    const api = podOf(INSTALLATIONS.least, 'api');
    expect(api.container.lifecycle?.preStop.exec.command).toEqual(['sleep', '5']);
    expect(api.spec.terminationGracePeriodSeconds).toBe(30);
    const worker = podOf(INSTALLATIONS.least, 'worker');
    expect((worker.spec.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(2 * DEFAULT_TIMEOUT_MS);
  });

  it('migrates before each installation and each upgrade, behind the policy of its network', () => {
    const hooks = manifests(INSTALLATIONS.least)
      .filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade')
      .map(({ kind, metadata }) => [kind, metadata.annotations?.['helm.sh/hook-weight'] ?? '0']);
    expect(hooks.sort()).toEqual([
      ['Job', '0'],
      ['NetworkPolicy', '-1'],
    ]);
  });

  it('selects by labels that the pods have', () => {
    for (const values of Object.values(INSTALLATIONS)) {
      const pods = withPods(values).map(({ metadata }) => metadata.labels);
      const selecting = manifests(values).filter(({ kind }) => !['Job', 'ServiceMonitor'].includes(kind));
      for (const { kind, metadata, spec } of selecting) {
        const selector = spec.podSelector?.matchLabels ?? spec.selector?.matchLabels ?? spec.selector;
        if (selector === undefined) continue;
        const chosen = pods.filter((labels) =>
          Object.entries(selector).every(([name, value]) => labels[name] === value),
        );
        expect(chosen.length, `${kind} ${metadata.name}`).toBeGreaterThanOrEqual(1);
      }
    }
  });

  it('gives each build its Deployment, which stays, and its own pods', () => {
    const build = (tag: string) => {
      const values = { ...INSTALLATIONS.whole, image: { ...INSTALLATIONS.least.image, tag } };
      const { owner, container, metadata } = podOf(values, 'worker');
      const scaled = manifests(values).flatMap(({ spec }) => spec.scaleTargetRef?.name ?? []);
      expect(scaled).toContain(owner.name);
      expect(owner.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
      return { name: owner.name, id: environment(container).WORKER_BUILD_ID, labels: metadata.labels };
    };
    const [former, latter] = [build('2026-11-21.1'), build('2026-11-22.1@sha256:00')];
    expect([former.name, former.id]).toEqual(['countersign-worker-2026-11-21-1', '2026-11-21.1']);
    expect([latter.name, latter.id]).toEqual(['countersign-worker-2026-11-22-1', '2026-11-22.1']);
    expect(former.labels['countersign/build']).not.toBe(latter.labels['countersign/build']);
    const long = (end: string) => build(`release-of-the-main-branch-of-2026-11-22.${end}`).name;
    expect(long('1')).not.toBe(long('2'));
    expect(environment(podOf(INSTALLATIONS.least, 'worker').container).WORKER_BUILD_ID).toBeUndefined();
  });

  it('gives pods what a cluster asks for, and api or worker another place than the others', () => {
    const { whole } = INSTALLATIONS;
    for (const role of ROLES) {
      const { spec, metadata, container } = podOf(whole, role);
      expect(metadata).toMatchObject({
        labels: { team: 'identity', 'app.kubernetes.io/component': role },
        annotations: { 'vault.hashicorp.com/agent-inject': 'true' },
      });
      expect(spec).toMatchObject({
        priorityClassName: 'important',
        nodeSelector: { pool: role === 'worker' ? 'workers' : 'services' },
        tolerations: [{ key: 'pool' }],
      });
      expect(spec.volumes.map(({ name }) => name)).toEqual(['secrets', 'authorities']);
      expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/secrets', '/authorities']);
      const spread = spec.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey);
      expect(spread).toEqual(role === 'migrate' ? undefined : ['topology.kubernetes.io/zone']);
    }
    const least = podOf(INSTALLATIONS.least, 'api');
    expect(least.metadata).not.toHaveProperty('annotations');
    expect(least.spec).not.toHaveProperty('nodeSelector');
    expect(least.spec.topologySpreadConstraints).toHaveLength(1);
  });

  it('is the Job of the page that examines a restored database, with what the migration has', () => {
    const block = readBlocks('docs/kubernetes.md').find((text) => text.includes('restore-check')) ?? '';
    const [, words = ''] = /^ *sed '(.+)' \|$/m.exec(block) ?? [];
    const { text } = render(helm, INSTALLATIONS.least);
    const job = text.split('---').find((one) => one.includes('kind: Job')) ?? '';
    const made = spawnSync('sed', [words], { input: job, encoding: 'utf8' }).stdout;
    expect(validate(validator, made).faults).toEqual([]);
    const { metadata, spec } = parse(made) as Manifest;
    expect(metadata.name).toBe('countersign-restore-check');
    expect(made).not.toContain('helm.sh/hook');
    expect(spec.template?.spec.containers[0].args).toEqual(['restore-check']);
    expect(made).toContain('AUDIT_KEY_FILE');
  });

  it('lets no label of an installation take the place of those that the chart selects by', () => {
    const values = { ...INSTALLATIONS.least, podLabels: { 'app.kubernetes.io/component': 'other' } };
    expect(podOf(values, 'api').metadata.labels['app.kubernetes.io/component']).toBe('api');
  });

  it('has no label above 63 letters, whichever names release and tag have, and builds stay apart', () => {
    const labelsOf = (tag: string) => {
      const values = { ...INSTALLATIONS.whole, image: { ...INSTALLATIONS.least.image, tag } };
      const release = 'averyveryverylongreleasenameofacompany-production-eu';
      const { text, error } = render(helm, values, undefined, release);
      expect(error).toBe('');
      return parseAllDocuments(text).flatMap((document) => {
        const manifest = document.toJS() as Manifest | null;
        if (manifest === null) return [];
        const { metadata, spec } = manifest;
        const labels = [metadata.labels, spec.template?.metadata.labels, spec.selector?.matchLabels];
        return labels.flatMap((one) => Object.entries(one ?? {}));
      });
    };
    const [one, other] = ['1', '2'].map((end) => labelsOf(`2026-11-29-0123456789012345678901234567-${end}`));
    for (const [name, value] of one ?? []) expect(value.length, name).toBeLessThanOrEqual(63);
    const builds = (labels = one) =>
      new Set(labels?.flatMap(([name, value]) => (name === 'countersign/build' ? [value] : [])));
    expect(builds().size).toBe(1);
    expect(builds()).not.toEqual(builds(other));
  });

  it('lets only named peers reach the metrics, and the migration no receiver', () => {
    const policyOf = (values: object, role: string) =>
      manifests(values).find(
        ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === `countersign-${role}`,
      )?.spec;
    expect(policyOf(INSTALLATIONS.least, 'api')?.ingress).toEqual([{ ports: [{ port: 'http' }] }]);
    expect(policyOf(INSTALLATIONS.least, 'worker')?.ingress ?? null).toBeNull();
    expect(policyOf(INSTALLATIONS.whole, 'worker')?.ingress).toEqual([
      { ports: [{ port: 'metrics' }], from: INSTALLATIONS.whole.networkPolicy.metricsFrom },
    ]);
    expect(JSON.stringify(policyOf(INSTALLATIONS.least, 'migrate')?.egress)).not.toContain('cidr');
    expect(JSON.stringify(policyOf(INSTALLATIONS.least, 'worker')?.egress)).toContain('169.254.0.0/16');
  });
});
