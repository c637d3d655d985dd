import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { describe, expect, inject, it } from 'vitest';
import { useExternalTemporal } from '../../../src/app/local/temporal-ready.ts';
import { knowsSearchAttributes } from '../../../src/platform/temporal/namespace.ts';
import { takePort } from '../../setup/ports.ts';
import { createStack } from './stack.ts';

describe('a Temporal server that is not ours', () => {
  it.each([
    ['', null],
    ['https://temporal.example/', 'https://temporal.example/namespaces/'],
  ])('gets what the workflows need, and TEMPORAL_UI_URL "%s" is what is printed', async (uiUrl, printed) => {
    const address = inject('temporalAddress');
    const namespace = `external-${randomUUID()}`;
    const stack = await createStack({
      ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, TEMPORAL_UI_URL: uiUrl },
    });
    const { child, exited, output } = await stack.startReady();
    expect(output()).toContain(`Temporal: ${address}, from TEMPORAL_ADDRESS; nothing is started.\n`);
    if (printed === null) expect(output()).not.toContain('Temporal UI');
    else expect(output()).toMatch(new RegExp(`Temporal UI +${printed}${namespace}/workflows\n`));
    expect(stack.read().ports.temporal).toBeNull();
    const connection = await Connection.connect({ address });
    expect(await knowsSearchAttributes(connection, namespace)).toBe(true);
    await connection.close();
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    await stack.gone();
  });

  it('is one line when it does not answer', async () => {
    const address = `127.0.0.1:${await takePort()}`;
    const { signal } = new AbortController();
    const server = { address, namespace: 'countersign' };
    const using = useExternalTemporal(server, { say: () => undefined, signal, limit: 1 });
    await expect(using).rejects.toThrow(
      new RegExp(
        `^Temporal at ${address} cannot be used with the namespace countersign \\(Failed to connect before the deadline\\): start it, or unset .*\\.$`,
      ),
    );
  });
});
