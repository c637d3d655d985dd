// Where proofs are published in tests: one real HTTPS server for all domains, and the DNS that leads to it and holds
// their records.
import type { ServerResponse } from 'node:http';
import type { Anchor } from '../../../src/identity/anchors/anchor.ts';
import { createProofLooker } from '../../../src/identity/anchors/proof.client.ts';
import { createGuardedAgent } from '../../../src/platform/egress/guarded-agent.client.ts';
import { startSecureReceiver } from '../../webhooks/receiver/local-receiver.ts';
import { startDnsServer } from './dns-server.ts';

type Published = Pick<Anchor, 'type' | 'value' | 'proof'>;

export type ProofPlaces = Awaited<ReturnType<typeof startProofPlaces>>;

/** @returns what looks there, and how a domain publishes a proof and takes it back */
export async function startProofPlaces() {
  const files = new Map<string, (response: ServerResponse) => void>();
  const records = new Map<string, string>();
  const asked = new Map<string, number>();
  const count = (domain: string) => asked.set(domain, (asked.get(domain) ?? 0) + 1);
  const web = await startSecureReceiver((request, response) => {
    const domain = (request.headers.host ?? '').replace(/:\d+$/, '');
    count(domain);
    const serve = files.get(domain);
    if (serve === undefined) response.writeHead(404).end();
    else serve(response);
  });
  const names = await startDnsServer(({ name }) => {
    const domain = name.replace(/^_countersign\./, '');
    count(domain);
    const text = records.get(domain);
    return text === undefined ? 3 : [{ type: 'TXT', value: [text] }];
  });
  const agent = createGuardedAgent({
    allowedNetworks: ['127.0.0.0/8'],
    insecureReceivers: true,
    lookup: async () => ['127.0.0.1'],
  });
  return {
    looker: createProofLooker({ agent, dnsServers: [names.address], httpsPort: web.port, deadline: 5_000 }),

    publish: ({ type, value, proof }: Published): void => {
      if (type === 'domain_dns') records.set(value, proof);
      else files.set(value, (response) => response.end(`${proof}\n`));
    },

    withdraw: ({ type, value }: Pick<Published, 'type' | 'value'>): void => {
      (type === 'domain_dns' ? records : files).delete(value);
    },

    /** Lets a domain's web server do this. */
    serve: (value: string, answer: (response: ServerResponse) => void): void => void files.set(value, answer),

    /** How often somebody has looked. */
    looks: (value: string): number => asked.get(value) ?? 0,

    close: async () => {
      await agent.close();
      await Promise.all([web.close(), names.close()]);
    },
  };
}
