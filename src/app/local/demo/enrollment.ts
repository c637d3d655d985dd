// The demo's agent that registers its own key with an enrollment token. Its private key never leaves this process.

import { createAgent, type Enrollment, generateKey } from '../../../../packages/agent/src/index.ts';
import type { Api, Credentials } from './api.ts';
import type { Report } from './report.ts';

/** Enrolls an agent, authenticates it, and reads the agent's resource as that agent; reports every check. */
export async function enrollAgent({
  api,
  credentials,
  report,
}: {
  api: Api;
  credentials: Credentials;
  report: Report;
}): Promise<void> {
  report.section('An agent that registers its key itself');
  const agent = await api.call('POST', '/api/v1/agents', { name: 'demo enrolled', scopes: ['openid'] });
  const handed = await api.call('POST', `/api/v1/agents/${agent.id}/enrollment-tokens`);
  report.step(`management hands over a token that is good for one key until ${handed.expires_at}`);

  const client = await createAgent({
    ...{ issuer: credentials.issuer_url, fetch: api.fetch },
    key: await generateKey(),
  });
  await client.enroll(handed as Enrollment);
  const self = await client.self();
  const { keys } = self as { keys?: readonly { verified_at: unknown; fingerprint: unknown }[] };
  report.check(
    'the agent registers its key, which its proof verifies',
    keys?.length === 1 && keys[0]?.fingerprint === client.fingerprint && keys[0].verified_at !== null,
  );
  report.check(
    'its token tells it who it is, and which key it used',
    self.id === agent.id && typeof self.authenticated_key_id === 'string',
  );
}
