// Renders the chart by Helm, and has kubernetes-validate say whether a cluster would take what came out. For the test
// and for the judge.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHART = join('deploy', 'helm', 'countersign');

const LEAST = {
  image: { repository: 'registry.example/countersign' },
  settings: { PUBLIC_URL: 'https://id.example.com', TEMPORAL_ADDRESS: 'temporal.example:7233' },
};
const namespace = (name) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });

/** Values of installations: with no more than is required, and with everything that can be turned on. */
export const INSTALLATIONS = {
  least: LEAST,
  whole: {
    image: { ...LEAST.image, tag: '2026-11-22.1@sha256:00', pullSecrets: ['registry'] },
    settings: { ...LEAST.settings, TRUSTED_PROXIES: '10.0.0.0/8', DATABASE_POOL: '20' },
    secrets: { service: { keys: ['DATABASE_URL', 'MASTER_KEY', 'TEMPORAL_API_KEY'], files: ['ca.pem'] } },
    serviceAccount: 'countersign',
    podLabels: { team: 'identity' },
    podAnnotations: { 'vault.hashicorp.com/agent-inject': 'true' },
    priorityClassName: 'important',
    nodeSelector: { pool: 'services' },
    tolerations: [{ key: 'pool', operator: 'Equal', value: 'services', effect: 'NoSchedule' }],
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
    ],
    extraVolumes: [{ name: 'authorities', configMap: { name: 'authorities' } }],
    extraVolumeMounts: [{ name: 'authorities', mountPath: '/authorities', readOnly: true }],
    api: { autoscaling: { enabled: true } },
    worker: { byBuildId: true, autoscaling: { enabled: true }, nodeSelector: { pool: 'workers' } },
    ingress: { enabled: true, className: 'nginx', tlsSecret: 'tls', annotations: { a: 'b' } },
    networkPolicy: {
      apiFrom: [namespace('ingress')],
      metricsFrom: [namespace('monitoring')],
      postgres: { to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] },
      temporal: { to: [namespace('temporal')] },
      egress: [{ ports: [{ port: 4318, protocol: 'TCP' }] }],
    },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  },
};

/** Faults of the templates, each of which a cluster would drop or refuse: file, right text, wrong text. */
export const MISSPELT = [
  ['api.yaml', 'failureThreshold: 2', 'failureTreshold: 2'],
  ['worker.yaml', 'httpGet: { path: /readyz', 'httpget: { path: /readyz'],
  ['_helpers.tpl', 'runAsNonRoot: true', 'runAsNonroot: true'],
];

/**
 * @param {string} helm the program
 * @param {object} values
 * @param {string} [chart] its folder
 * @param {string} [release] its name
 * @returns {{ text: string, error: string }} the manifests, or what Helm says against the values
 */
export function render(helm, values, chart = CHART, release = 'countersign') {
  const { status, stdout, stderr } = spawnSync(helm, ['template', release, chart, '--values', '-'], {
    input: JSON.stringify(values),
    encoding: 'utf8',
  });
  return status === 0 ? { text: stdout, error: '' } : { text: '', error: stderr };
}

/**
 * @param {string} validator the program
 * @param {string} text manifests
 * @returns {{ passed: number, faults: string[] }} how many resources a cluster would take, and what it says of others
 */
export function validate(validator, text) {
  return inFolder((folder) => {
    const file = join(folder, 'manifests.yaml');
    writeFileSync(file, text);
    const { status, stdout, stderr } = spawnSync(validator, ['--strict', file], { encoding: 'utf8' });
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
    const passed = lines.filter((line) => line.startsWith('INFO ')).length;
    // Kinds that an operator brings have no schema there.
    const faults = lines.filter((line) => !/^INFO |kind ServiceMonitor /.test(line));
    return { passed, faults: status === 0 || faults.length > 0 ? faults : ['ended without a word'] };
  });
}

/**
 * Renders a copy of the chart that has a fault.
 * @param {string} helm
 * @param {object} values
 * @param {string[]} fault one of MISSPELT
 */
export function renderMisspelt(helm, values, [file, right, wrong]) {
  return inFolder((folder) => {
    cpSync(CHART, folder, { recursive: true });
    const place = join(folder, 'templates', file);
    const text = readFileSync(place, 'utf8');
    if (!text.includes(right)) throw new Error(`${file} has no "${right}"`);
    writeFileSync(place, text.replace(right, wrong));
    return render(helm, values, folder);
  });
}

function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-chart-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
