// Asks a real server each question that a link of the dashboard asks the Temporal UI.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import { afterAll, expect, inject, it } from 'vitest';
import { ensureNamespace } from '../../src/platform/temporal/namespace.ts';

const text = readFileSync('deploy/grafana/countersign.json', 'utf8');
const queries = [
  ...new Set(
    [...text.matchAll(/workflows\?query=([^"]+)"/g)].map(([, query = '']) => decodeURIComponent(query)),
  ),
];

/** As Grafana fills it in: the chosen time, and the labels of the line that was clicked. */
const filledIn = (query: string) =>
  query
    .replaceAll(/\$\{__from:date:iso\}/g, '2026-11-22T07:00:00.000Z')
    .replaceAll(/\$\{__to:date:iso\}/g, '2026-11-23T07:00:00.000Z')
    .replaceAll(/\$\{__field\.labels\.\w+\}/g, 'retention');

const namespace = `dashboard-${randomUUID()}`;
const connection = await Connection.connect({ address: inject('temporalAddress') });
await ensureNamespace(connection, { namespace });
afterAll(() => connection.close());

it('a link of the dashboard asks what the server understands', async () => {
  const { workflow } = new Client({ connection, namespace });
  expect(queries.length).toBeGreaterThan(6);
  for (const query of queries) {
    expect(filledIn(query)).not.toContain('${');
    const { count } = await workflow.count(filledIn(query));
    expect(count, query).toBe(0);
  }
  await expect(workflow.count('DeliveryStanding="retrying"')).rejects.toThrow();
});
