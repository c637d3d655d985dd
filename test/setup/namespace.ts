// A namespace of one test alone: the workers of real processes would take each other's workflows.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import { ensureNamespace } from '../../src/platform/temporal/namespace.ts';

/** @returns its name @param prefix says in Temporal whose it is */
export async function makeNamespace(prefix: string): Promise<string> {
  const namespace = `${prefix}-${randomUUID().replaceAll('-', '')}`;
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  await ensureNamespace(connection, { namespace });
  await connection.close();
  return namespace;
}
