// The examination of the role that api and worker connect as.
import { expect, it, vi } from 'vitest';
import { findStrongProcesses } from '../../../src/operations/doctor/cluster.store.ts';
import { DoctorService } from '../../../src/operations/doctor/doctor.service.ts';
import type { Finding } from '../../../src/operations/doctor/finding.ts';
import { createDatabaseRoleCheck } from '../../../src/operations/doctor/rows.check.ts';
import { createPatientDatabase, SERVICE_ROLE, useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';

const { database: owner, url, serviceUrl } = await useTestDatabase();

it('finds a process that connects as the owner, where there is a weaker role', async () => {
  const open = async (place: string, applicationName: string) => {
    const opened = createPatientDatabase({ url: place, pool: 1, applicationName });
    await opened.query('SELECT 1');
    return opened;
  };
  const api = await open(url, 'countersign api');
  const worker = await open(serviceUrl, 'countersign worker');
  const examine = async () => {
    const findings: Finding[] = [];
    // The examination itself may run as the weaker role.
    const check = createDatabaseRoleCheck(worker);
    const service = new DoctorService({ checks: [check] });
    const [report] = await service.examine({ fix: true }, { onFinding: (finding) => findings.push(finding) });
    expect(report?.failure).toBeNull();
    return findings;
  };
  expect(await examine()).toMatchObject([
    {
      code: 'database_role_too_strong',
      subject: 'countersign api',
      detail: expect.stringMatching(/^1 sessions connect as countersign, /),
    },
  ]);
  await api.close();
  // Postgres lists a session for a moment after its client has gone.
  await vi.waitFor(async () => expect(await examine()).toEqual([]), PATIENCE);
  await owner.query(`GRANT DELETE ON audit_log TO ${SERVICE_ROLE.name}`);
  expect(await examine()).toMatchObject([{ subject: 'countersign worker' }]);
  await worker.close();
});

it('finds nothing where one role is all there is', async () => {
  await owner.query(`REVOKE ALL ON audit_log FROM ${SERVICE_ROLE.name}`);
  const api = createPatientDatabase({ url, pool: 1, applicationName: 'countersign api' });
  await api.query('SELECT 1');
  expect(await findStrongProcesses(owner)).toEqual([]);
  await api.close();
});
