// Holds the dashboard, the alerts and their pages against the metrics that the processes tell. Nothing is started.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listInvariants } from '../../src/app/wiring/invariants.ts';
import { ENDPOINT_STATES } from '../../src/webhooks/endpoints/endpoint-state.ts';
import { readQuery } from '../platform/metrics/prometheus-text.ts';
import { listMetrics, type Metric } from '../platform/metrics/registries.ts';

type Rule = {
  record?: string;
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
};
type Link = { title: string; url: string };
type Override = {
  matcher: { id: string; options: string };
  properties: { id: string; value: Link[] }[];
};
type Panel = {
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
  /** Of the panel's head: the page. */
  links?: Link[];
  /** Of a line in it: workflows in the Temporal UI. */
  fieldConfig?: { defaults: { links?: Link[] }; overrides?: Override[] };
};

const rules = (
  parse(readFileSync('deploy/prometheus/rules.yml', 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule) => rule.alert !== undefined);
/** Two alerts are for all invariants: the label `invariant` says which. */
const isNoInvariant = ({ annotations }: Rule) => !annotations?.runbook?.includes('$labels.invariant');
const invariants = listInvariants({ masterKeys: [] });
const dashboard = JSON.parse(readFileSync('deploy/grafana/countersign.json', 'utf8')) as {
  uid: string;
  panels: Panel[];
  templating: { list: { name: string; type: string; query: string }[] };
};
const linesLinks = ({ fieldConfig }: Panel) => [
  ...(fieldConfig?.defaults.links ?? []),
  ...(fieldConfig?.overrides ?? []).flatMap(({ properties }) => properties.flatMap(({ value }) => value)),
];
const targets = dashboard.panels.flatMap(({ title, targets: list = [] }) =>
  list.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);

/** What Prometheus itself adds, by deploy/prometheus/prometheus.yml. */
const TARGET_LABELS = ['job', 'instance', 'role'];
/** Of prom-client and Prometheus: summaries and gauges that have no labels which a rule could want. */
const FOREIGN = new Map<string, Metric>(
  [
    'up',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
  ].map((name): [string, Metric] => [name, { type: 'gauge', labels: [] }]),
);
/** Of node_exporter, which docker-compose.yml starts to look at its disks. */
for (const name of ['node_filesystem_avail_bytes', 'node_filesystem_size_bytes'])
  FOREIGN.set(name, { type: 'gauge', labels: ['device', 'fstype', 'mountpoint'] });

const { api, worker, sdk } = await listMetrics();
const known = new Map([...api, ...worker, ...sdk, ...FOREIGN]);
for (const { record } of rules) if (record !== undefined) known.set(record, { type: 'gauge', labels: [] });

/** What is wrong with a query: names that nobody tells, and labels that the name does not have. */
function faultsOf(expression: string): string[] {
  const { metrics, grouping } = readQuery(expression);
  const labels = new Set([...TARGET_LABELS, 'le']);
  const faults: string[] = metrics.length === 0 ? [`no metric: ${expression}`] : [];
  for (const { name, labels: wanted } of metrics) {
    const metric = known.get(name) ?? histogramOf(name);
    if (metric === undefined) {
      faults.push(name);
      continue;
    }
    for (const label of metric.labels) labels.add(label);
    for (const label of wanted)
      if (!TARGET_LABELS.includes(label) && !metric.labels.includes(label)) faults.push(`${name}{${label}}`);
  }
  return [...faults, ...grouping.filter((label) => !labels.has(label)).map((label) => `by (${label})`)];
}

function histogramOf(name: string): Metric | undefined {
  const metric = known.get(name.replace(/_(bucket|sum|count)$/, ''));
  return metric?.type === 'histogram' ? metric : undefined;
}

describe('a query', () => {
  it.each([
    ['rate(countersign_nothing_total[5m])', ['countersign_nothing_total']],
    ['sum by (tenant) (countersign_ready)', ['by (tenant)']],
    ['countersign_endpoints{host="x"}', ['countersign_endpoints{host}']],
    ['countersign_endpoints{state="x", role="worker"} and on (job) up', []],
    ['countersign_ready_bucket', ['countersign_ready_bucket']],
    ['histogram_quantile(0.9, sum by (le) (rate(countersign_delivery_latency_seconds_bucket[5m])))', []],
    ['vector(1)', ['no metric: vector(1)']],
  ])('%s is seen through', (expression, faults) => {
    expect(faultsOf(expression)).toEqual(faults);
  });
});

it('a label that a metric and its target both have is the one of the metric', () => {
  const both = [...known].filter(([, { labels }]) => labels.some((label) => TARGET_LABELS.includes(label)));
  expect(both.map(([name]) => name)).toContain('countersign_build_info');
  const { scrape_configs: jobs } = parse(readFileSync('deploy/prometheus/prometheus.yml', 'utf8')) as {
    scrape_configs: { job_name: string; honor_labels?: boolean }[];
  };
  for (const { job_name, honor_labels } of jobs) expect(honor_labels, job_name).toBe(true);
  const monitor = readFileSync('deploy/helm/countersign/templates/servicemonitor.yaml', 'utf8');
  expect(monitor).toContain('honorLabels: true');
});

describe('the disks', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    services: Record<string, { volumes: string[]; command: string[]; networks?: string[] }>;
  };

  it('that are looked at are those of Postgres and of its archive, wherever that is', () => {
    const places = services.disks?.volumes ?? [];
    expect(places.every((place) => /:\/disks\/\w+:ro$/.test(place))).toBe(true);
    expect(services.disks?.command).toContain('--collector.filesystem.mount-points-include=^/disks/');
    const kept = (services.postgres?.volumes ?? []).filter((place) => !place.startsWith('./'));
    const source = (place: string) => place.replace(/:\/.*$/, '');
    expect(places.map(source)).toEqual(kept.map(source));
  });

  it('are asked for by the job that the alerts name, in a network of both', () => {
    const { scrape_configs: jobs } = parse(readFileSync('deploy/prometheus/prometheus.yml', 'utf8')) as {
      scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[];
    };
    const job = jobs.find(({ dns_sd_configs: [place] }) => place?.names.includes('disks'));
    expect(job).toMatchObject({ job_name: 'countersign-disks', dns_sd_configs: [{ port: 9100 }] });
    for (const name of ['disks', 'prometheus']) expect(services[name]?.networks, name).toBeUndefined();
    const asking = rules.filter(({ expr }) => expr.includes('node_filesystem_'));
    expect(asking).toHaveLength(1);
    for (const [, labels] of asking[0]?.expr.matchAll(/node_filesystem_\w+(\{[^}]*\})/g) ?? [])
      expect(labels).toBe('{job="countersign-disks"}');
  });
});

describe('the rules', () => {
  it('ask only for what the processes tell', () => {
    expect(rules.length).toBeGreaterThan(25);
    expect(
      // A number is what the operator states.
      rules
        .filter(({ expr }) => !/^vector\(\d+\)$/.test(expr))
        .flatMap(({ alert, record, expr }) => faultsOf(expr).map((fault) => `${alert ?? record}: ${fault}`)),
    ).toEqual([]);
  });

  it('say of each alert how urgent it is, what it is about, and which page helps', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const { alert = '', labels, annotations } of alerts) {
      expect(alert).toMatch(/^Countersign[A-Z]\w+$/);
      expect(['page', 'ticket'], alert).toContain(labels?.severity);
      expect(annotations?.summary, alert).toMatch(/\S/);
      expect(annotations?.description, alert).toMatch(/\.$/);
    }
  });

  it('name pages and headings that exist, and no heading is without its alert', () => {
    const headings: string[] = [];
    for (const { alert, annotations } of alerts.filter(isNoInvariant)) {
      const [page = '', heading = ''] = (annotations?.runbook ?? '').split('#');
      expect(page, alert).toMatch(/^docs\/operations\//);
      expect(existsSync(page), page).toBe(true);
      const there = [...readFileSync(page, 'utf8').matchAll(/^### (.+)$/gm)].map(([, text]) => text ?? '');
      expect(
        there.map((text) => text.toLowerCase()),
        alert,
      ).toContain(heading);
      headings.push(...there);
    }
    const named = [
      ...alerts.filter(isNoInvariant).map(({ alert }) => alert),
      ...invariants.map(({ name }) => name),
    ];
    expect([...new Set(headings)].sort()).toEqual(named.sort());
  });

  it('lead from each broken invariant, by how bad it is, to the section of its name', () => {
    for (const severity of ['page', 'ticket'] as const) {
      expect(invariants.some((one) => one.severity === severity)).toBe(true);
      const asking = alerts.filter(({ expr }) =>
        expr.includes(`countersign_invariant_breaches{severity="${severity}"}`),
      );
      expect(asking).toMatchObject([
        {
          labels: { severity },
          annotations: { runbook: 'docs/operations/alerts.md#{{ $labels.invariant }}' },
        },
      ]);
      expect(asking.every((alert) => !isNoInvariant(alert))).toBe(true);
    }
    for (const { name } of invariants) expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/);
  });

  it('lead, on their page, to what to check and what to do', () => {
    const sections = readFileSync('docs/operations/alerts.md', 'utf8').split(/^### /m).slice(1);
    const incomplete = sections.filter((text) => !/^- \*\*Check\*\*/m.test(text) || !/\*\*Do\*\*/.test(text));
    expect(incomplete.map((text) => text.split('\n')[0])).toEqual([]);
    expect(sections).toHaveLength(alerts.filter(isNoInvariant).length + invariants.length);
  });

  it('tell in their texts only labels that what they ask for has', () => {
    for (const { alert, expr, annotations } of alerts) {
      const used = [
        ...Object.values(annotations ?? {})
          .join(' ')
          .matchAll(/\$labels\.(\w+)/g),
      ].map(([, label]) => label);
      const { metrics, grouping } = readQuery(expr);
      const labels = metrics.flatMap(({ name }) => (known.get(name) ?? histogramOf(name))?.labels ?? []);
      const told = grouping.length > 0 ? grouping : [...labels, ...TARGET_LABELS];
      expect(
        used.filter((label) => !told.includes(label ?? '')),
        alert,
      ).toEqual([]);
    }
  });

  it('compare nothing with its own past, which a fault that stays becomes', () => {
    const comparesPast = (expr: string) => /\b(max|avg|last|quantile)_over_time\(|\boffset\b/.test(expr);
    expect(comparesPast('count(up) < max_over_time(count(up)[1h:1m])')).toBe(true);
    expect(alerts.filter(({ expr }) => comparesPast(expr)).map(({ alert }) => alert)).toEqual([]);
  });

  it('expect as many processes of each role as docker-compose.yml starts', () => {
    const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
      services: Record<string, { deploy?: { replicas: number } }>;
    };
    const expected = rules.filter(({ record }) => record === 'countersign:processes:expected');
    expect(expected.map(({ labels, expr }) => [labels?.role, expr])).toEqual(
      ['api', 'worker'].map((role) => [role, `vector(${services[role]?.deploy?.replicas})`]),
    );
  });

  it('are most of them tried by the tests for promtool', () => {
    const tried = readFileSync('deploy/prometheus/rules.test.yml', 'utf8');
    const untried = alerts.map(({ alert = '' }) => alert).filter((alert) => !tried.includes(alert));
    expect(untried.length).toBeLessThan(alerts.length / 2);
  });
});

describe('the dashboard', () => {
  it('asks only for what the processes tell, or rules record', () => {
    expect(targets.length).toBeGreaterThan(40);
    expect(targets.flatMap(({ title, expr }) => faultsOf(expr).map((fault) => `${title}: ${fault}`))).toEqual(
      [],
    );
  });

  it('names in its legends only labels that are there', () => {
    for (const { title, expr, legendFormat } of targets) {
      const wanted = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '');
      const { grouping } = readQuery(expr);
      const told = grouping.length > 0 ? grouping : TARGET_LABELS;
      expect(
        wanted.filter((label) => !told.includes(label)),
        title,
      ).toEqual([]);
    }
  });

  it('leads from its panels to headings of the operations pages that exist', () => {
    const linked = dashboard.panels.filter(({ links = [] }) => links.length > 0);
    expect(linked.length).toBeGreaterThan(20);
    for (const { title, links = [] } of linked)
      for (const { url } of links) {
        const [, page = '', heading = ''] =
          /^\$\{docs:raw\}\/(operations\/[\w-]+\.md)#([\w-]+)$/.exec(url) ?? [];
        expect(existsSync(`docs/${page}`), `${title}: ${url}`).toBe(true);
        const headings = [...readFileSync(`docs/${page}`, 'utf8').matchAll(/^#{2,3} (.+)$/gm)].map(
          ([, text = '']) => text.toLowerCase().replaceAll(' ', '-'),
        );
        expect(headings, title).toContain(heading);
      }
  });

  it('leads from the lines of endpoints and failures to what there is in the Temporal UI', () => {
    const titles = dashboard.panels.filter((panel) => linesLinks(panel).length > 0).map(({ title }) => title);
    expect(titles).toEqual(expect.arrayContaining(['Endpoints', 'Failures by class', 'Attempts by outcome']));
    for (const panel of dashboard.panels)
      for (const { url } of linesLinks(panel)) {
        expect(url, panel.title).toMatch(/^\$\{temporal_ui:raw\}\/workflows\?query=[^"\s]+$/);
        const told = (panel.targets ?? []).map(({ expr }) => readQuery(expr).grouping);
        for (const [, label = ''] of url.matchAll(/\$\{__field\.labels\.(\w+)\}/g))
          for (const labels of told) expect(labels, panel.title).toContain(label);
      }
  });

  it('has a link of its own only for states of an endpoint that there are', () => {
    const endpoints = dashboard.panels.find(({ title }) => title === 'Endpoints');
    for (const { matcher } of endpoints?.fieldConfig?.overrides ?? []) {
      expect(matcher.id).toBe('byName');
      expect(ENDPOINT_STATES).toContain(matcher.options);
    }
    expect(endpoints?.fieldConfig?.overrides).toHaveLength(3);
  });

  it('lets a deployment set where the Temporal UI and the docs are', () => {
    const used = new Set([...JSON.stringify(dashboard).matchAll(/\$\{(\w+):raw\}/g)].map(([, name]) => name));
    expect([...used].sort()).toEqual(['docs', 'temporal_ui']);
    for (const name of used)
      expect(dashboard.templating.list.find((one) => one.name === name)?.type, name).toBe('textbox');
  });

  it('has no panel over another', () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of dashboard.panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.get(`${x},${y}`), title).toBeUndefined();
          expect(x).toBeLessThan(24);
          taken.set(`${x},${y}`, title);
        }
  });

  it('shows every metric of ours that an operator should see', () => {
    const asked = [...targets, ...rules].flatMap(({ expr }) => readQuery(expr).metrics);
    const shown = new Set(asked.flatMap(({ name }) => [name, name.replace(/_(bucket|sum|count)$/, '')]));
    const hidden = [...known.keys()].filter((name) => name.startsWith('countersign_') && !shown.has(name));
    expect(hidden.sort()).toEqual(['countersign_build_info', 'countersign_database_pool_max_connections']);
  });
});
