// Holds the versions of Temporal: docker-compose.yml and the pages name those of temporal-version.ts.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { LOWEST, TEMPORAL } from '../../src/app/local/temporal-program.ts';

const read = (file: string) => readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ');

it('is that of each image of Temporal in docker-compose.yml', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    services: Record<string, { image: string }>;
  };
  const images = Object.entries(services).flatMap(([name, { image }]) =>
    image.startsWith('temporalio/') ? [[name, image]] : [],
  );
  expect(Object.fromEntries(images)).toEqual({
    temporal: `temporalio/server:${TEMPORAL.server}`,
    'temporal-schema': `temporalio/admin-tools:${TEMPORAL.server}`,
    tools: `temporalio/admin-tools:${TEMPORAL.server}`,
    'temporal-ui': `temporalio/ui:${TEMPORAL.ui}`,
  });
});

it('stands on the pages, with the lowest that is taken', () => {
  const stack = read('docs/local-stack.md');
  expect(stack).toContain(
    `has server ${TEMPORAL.server} and UI ${TEMPORAL.ui}, as \`docker-compose.yml\` has`,
  );
  expect(stack).toContain(`from ${LOWEST.server} on it is taken`);
  const upgrade = read('docs/operations/upgrade.md');
  expect(upgrade).toContain(`The Temporal server must be ${LOWEST.server} or newer`);
  expect(upgrade).toContain(`\`docker-compose.yml\` runs ${TEMPORAL.server}`);
});
