// The keys of issuers that tenants trust: the doctor names whose cannot be had, and asks for them only when it is told.
import { afterAll, expect, it } from 'vitest';
import { wireIssuerInspection } from '../../../src/authentication/trusted-issuers/wire.ts';
import { DoctorService } from '../../../src/operations/doctor/doctor.service.ts';
import type { Finding } from '../../../src/operations/doctor/finding.ts';
import { createIssuerKeysCheck } from '../../../src/operations/doctor/issuer-keys.check.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { openPlatform } from '../../../src/platform/opening/platform.ts';
import {
  answerKeys,
  newKey,
  startJwksServer,
} from '../../authentication/trusted-issuers/identity-provider.ts';
import { startTenants } from '../../isolation/tenants-server.ts';
import { manage } from '../../packages/resource-server/live-service.ts';
import { PATIENT } from '../../setup/database.ts';

const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' };

const servers: Awaited<ReturnType<typeof startJwksServer>>[] = [];

const tenants = await startTenants(undefined, undefined, NETWORKS);
const settings = { DATABASE_URL: tenants.url, MASTER_KEY: Buffer.alloc(32, 1).toString('base64') };
const config = loadConfig(
  { ...settings, ...NETWORKS, PUBLIC_URL: 'http://localhost', NODE_ENV: 'test', LOG_LEVEL: 'silent' },
  { role: 'api' },
);
const platform = openPlatform(config, { logger: createLogger(config), name: 'doctor', limits: PATIENT });
const inspection = wireIssuerInspection(platform);
afterAll(async () => {
  for (const { close } of servers) await close();
  await inspection.close();
  await platform.close();
  await tenants.close();
});

async function examine(options: { issuers?: boolean }) {
  const findings: Finding[] = [];
  const doctor = new DoctorService({ checks: [createIssuerKeysCheck(inspection)] });
  const reports = await doctor.examine(
    { fix: false, ...options },
    { onFinding: (one) => findings.push(one) },
  );
  return { reports, findings };
}

async function publish(keys: Parameters<typeof answerKeys>[0]): Promise<string> {
  const server = await startJwksServer(answerKeys(keys));
  servers.push(server);
  return server.uri;
}

it('names each issuer whose keys cannot be fetched or are none, and asks none unless it is told to', async () => {
  const { owner, stranger } = tenants;
  const { jwk } = await newKey();
  const gone = await publish([jwk]);
  await servers.pop()?.close();
  const trust = (party: typeof owner, issuer: string, jwks_uri: string) =>
    manage(party, 'POST', '/api/v1/trusted-issuers', { issuer, jwks_uri, audiences: ['a'] });
  const trustWorkloads = (party: typeof owner, issuer: string, source: Record<string, unknown>) =>
    manage(party, 'POST', '/api/v1/workload-issuers', { issuer, ...source, audiences: ['a'], rules: [] });

  await trust(owner, 'https://good.example', await publish([jwk]));
  const [empty, away, workload] = [
    await trust(owner, 'https://empty.example', await publish([])),
    await trust(stranger, 'https://away.example', gone),
    await trustWorkloads(owner, 'https://cluster.example', { jwks_uri: gone }),
  ];
  await trustWorkloads(owner, 'spiffe://example.org', { jwks: { keys: [jwk] } });

  expect(await examine({})).toEqual({ reports: [], findings: [] });
  const { reports, findings } = await examine({ issuers: true });
  expect(reports).toEqual([{ check: 'issuerKeys', looked: 4, found: 3, mended: 0, asked: 0, failure: null }]);
  const expected = (code: string, { id }: { id: string }, party: typeof owner, detail: RegExp) => ({
    ...{ check: 'issuerKeys', code, subject: id, tenantId: party.credentials.tenant_id },
    detail: expect.stringMatching(detail),
  });
  expect(findings).toHaveLength(3);
  expect(findings).toEqual(
    expect.arrayContaining([
      expected('issuer_keys_missing', empty, owner, /^the trusted issuer https:\/\/empty.*no key/),
      expected('issuer_keys_unreachable', away, stranger, /^the trusted issuer https:\/\/away.*no answer/),
      expected(
        'issuer_keys_unreachable',
        workload,
        owner,
        /^the workload issuer https:\/\/cluster.*no answer/,
      ),
    ]),
  );
});
