// Holds the links of the alerts and the example for Alertmanager: with a parser, and with promtool and amtool where
// they are installed. Nothing is started.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const FOLDER = 'deploy/prometheus';
const RULES = `${FOLDER}/rules.yml`;
const ALERTMANAGER = `${FOLDER}/alertmanager.yml`;

type Alert = { alert?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
type Route = { receiver: string; matchers?: string[]; routes?: Route[] };
type Alertmanager = {
  route: Route;
  inhibit_rules: { source_matchers: string[]; target_matchers: string[] }[];
  receivers: { name: string }[];
};
type Prometheus = {
  global: { external_labels: Record<string, string> };
  alerting: {
    alert_relabel_configs: { action: string; regex: string }[];
    alertmanagers: { dns_sd_configs: { names: string[]; port: number }[] }[];
  };
};

const read = <T>(file: string) => parse(readFileSync(file, 'utf8'), { merge: true }) as T;
const alerts = read<{ groups: { rules: Alert[] }[] }>(RULES)
  .groups.flatMap(({ rules }) => rules)
  .filter(({ alert }) => alert !== undefined);
const alertmanager = read<Alertmanager>(ALERTMANAGER);
const prometheus = read<Prometheus>(`${FOLDER}/prometheus.yml`);
const compose = read<{
  services: Record<string, { environment?: Record<string, string>; ports?: string[]; volumes?: string[] }>;
}>('docker-compose.yml');

/** Whether labels fit all matchers `name="value"` or `name=~"a|b"`; Alertmanager anchors a regular expression. */
const fits = (matchers: readonly string[], labels: Record<string, string>) =>
  matchers.every((matcher) => {
    const [, name = '', sign, value = ''] = /^(\w+)(=~?)"(.*)"$/.exec(matcher) ?? [];
    expect(name, matcher).not.toBe('');
    return sign === '=' ? labels[name] === value : value.split('|').includes(labels[name] ?? '');
  });

/** The receiver that Alertmanager finds: the first child that fits, otherwise the route itself. */
function receiverOf(route: Route, labels: Record<string, string>): string {
  const next = route.routes?.find(({ matchers = [] }) => fits(matchers, labels));
  return next === undefined ? route.receiver : receiverOf(next, labels);
}

describe('an alert', () => {
  it('links to its runbook below the external label docs, and has no link where that is not set', () => {
    expect(alerts.length).toBeGreaterThan(25);
    for (const { alert, annotations } of alerts) {
      const path = annotations?.runbook?.replace(/^docs\//, '');
      expect(annotations?.runbook_url, alert).toBe(`{{ with $externalLabels.docs }}{{ . }}/${path}{{ end }}`);
    }
  });

  it('gets the label from DOCS_URL, as the links in the Temporal UI do, and is sent without it', () => {
    expect(prometheus.global.external_labels).toEqual({ docs: `\${DOCS_URL}` });
    for (const service of ['prometheus', 'worker'])
      expect(compose.services[service]?.environment?.DOCS_URL, service).toBe(`\${DOCS_URL:-}`);
    expect(prometheus.alerting.alert_relabel_configs).toContainEqual({ action: 'labeldrop', regex: 'docs' });
  });

  it('is sent to the Alertmanager of the deployment', () => {
    const places = prometheus.alerting.alertmanagers.flatMap(({ dns_sd_configs }) => dns_sd_configs);
    expect(places).toMatchObject([{ names: ['alertmanager'], port: 9093 }]);
    expect(compose.services.alertmanager?.ports).toEqual(['127.0.0.1:9093:9093']);
    expect(compose.services.alertmanager?.volumes).toContain(`./${FOLDER}:/etc/alertmanager:ro`);
  });
});

describe('the example for Alertmanager', () => {
  it('sends each alert to the receiver of its severity, and one without a severity to a person, too', () => {
    for (const { alert = '', labels = {} } of alerts)
      expect(receiverOf(alertmanager.route, { alertname: alert, ...labels }), alert).toBe(labels.severity);
    expect(receiverOf(alertmanager.route, { alertname: 'Other' })).toBe('ticket');
    expect(alertmanager.receivers.map(({ name }) => name).sort()).toEqual(['page', 'ticket']);
  });

  it('shows the link to the pager, and keeps secrets in files that git ignores', () => {
    const text = readFileSync(ALERTMANAGER, 'utf8');
    expect(text).toContain('href: "{{ .CommonAnnotations.runbook_url }}"');
    const files = [...text.matchAll(/^[ -]*\w*(?:key|password)\w*: (.+)$/gm)].map(([, value]) => value);
    expect(files).toHaveLength(2);
    for (const file of files) expect(file).toMatch(/^\/etc\/alertmanager\/secrets\//);
    expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain(`${FOLDER}/secrets/`);
  });

  it('silences consequences of alerts that exist, never an alert by itself', () => {
    const named = (matchers: readonly string[]) => {
      const names = matchers.flatMap(
        (matcher) => /^alertname=~?"(.+)"$/.exec(matcher)?.[1]?.split('|') ?? [],
      );
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) expect(alerts.map(({ alert }) => alert)).toContain(name);
      return names;
    };
    expect(alertmanager.inhibit_rules.length).toBeGreaterThan(0);
    for (const { source_matchers, target_matchers } of alertmanager.inhibit_rules) {
      const causes = named(source_matchers);
      expect(named(target_matchers).filter((name) => causes.includes(name))).toEqual([]);
      // A cause that nobody is woken by would hide what wakes.
      for (const name of causes)
        expect(alerts.find(({ alert }) => alert === name)?.labels?.severity, name).toBe('page');
    }
  });
});

describe('the tools of Prometheus', () => {
  const isHere = (program: string) => spawnSync(program, ['--version']).error === undefined;

  it.runIf(isHere('promtool')).each([
    ['check rules', ['check', 'rules', RULES]],
    ['test rules', ['test', 'rules', `${FOLDER}/rules.test.yml`]],
    ['check config', ['check', 'config', `${FOLDER}/prometheus.yml`]],
  ])('promtool %s takes the files', (_, words) => {
    const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' });
    expect({ status, said: status === 0 ? '' : `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
  });

  it.runIf(isHere('amtool'))('amtool takes the example, and routes as it says', () => {
    const amtool = (...words: string[]) => spawnSync('amtool', words, { encoding: 'utf8' });
    expect(amtool('check-config', ALERTMANAGER).status).toBe(0);
    for (const severity of ['page', 'ticket']) {
      const { stdout } = amtool(
        'config',
        'routes',
        'test',
        `--config.file=${ALERTMANAGER}`,
        `severity=${severity}`,
      );
      expect(stdout.trim()).toBe(severity);
    }
  });
});
