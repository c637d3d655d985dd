// The role that api and worker connect as.
import { expect, it, vi } from 'vitest';
import { findStrongSessions } from '../../../src/operations/invariants/cluster.store.ts';
import { createPatientDatabase, SERVICE_ROLE, useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';

const { database: owner, url, serviceUrl } = await useTestDatabase();
const WELL = { count: 0, named: null };

it('is too strong where a process connects as the owner, and there is a weaker role', async () => {
  const open = async (place: string, applicationName: string) => {
    const opened = createPatientDatabase({ url: place, pool: 1, applicationName });
    await opened.query('SELECT 1');
    return opened;
  };
  const api = await open(url, 'countersign api');
  const worker = await open(serviceUrl, 'countersign worker');
  // The examination itself may run as the weaker role.
  const find = () => findStrongSessions(worker, 0);
  expect(await find()).toMatchObject({ count: 1, named: 'countersign api as countersign' });
  await api.close();
  // Postgres lists a session for a moment after its client has gone.
  await vi.waitFor(async () => expect(await find()).toMatchObject(WELL), PATIENCE);
  await owner.query(`GRANT DELETE ON audit_log TO ${SERVICE_ROLE.name}`);
  expect(await find()).toMatchObject({ count: 1, named: `countersign worker as ${SERVICE_ROLE.name}` });
  await worker.close();
});

it('is well where one role is all there is', async () => {
  await owner.query(`REVOKE ALL ON audit_log FROM ${SERVICE_ROLE.name}`);
  const api = createPatientDatabase({ url, pool: 1, applicationName: 'countersign api' });
  await api.query('SELECT 1');
  expect(await findStrongSessions(owner, 0)).toMatchObject(WELL);
  await api.close();
});
