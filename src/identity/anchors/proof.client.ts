// Checks whether a proof is published in a file of the domain's web server or in the DNS. A check ends at its deadline.
// Errors that a domain causes are returned as codes; text from a domain is never returned.
import { promises as dns } from 'node:dns';
import type { GuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import { errorCode } from '../../platform/egress/guarded-connection.client.ts';
import { fetchGuarded } from '../../platform/egress/guarded-fetch.client.ts';
import { classifyFailure, classifyTimeout } from '../../platform/egress/outcome.ts';
import type { Anchor } from './anchor.ts';
import { FOUND, isProofFile, isProofRecord } from './anchor-check.ts';

/** Milliseconds that one check may take, from the DNS query to the last byte. */
const DEADLINE = 10_000;

/** Greatest size of the file in bytes. */
const LARGEST = 4_096;

const FILE = '/.well-known/countersign-anchor.txt';
const RECORD = '_countersign';

/** Outcome when the file or the records contain another text. */
const MISMATCH = 'mismatch';

export type ProofLooker = ReturnType<typeof createProofLooker>;

/**
 * @param agent the guarded dispatcher, which checks the address of each connection
 * @param dnsServers servers for TXT queries, `address` or `address:port`; the system's servers when empty
 * @param httpsPort port of the web servers; another port than 443 is for development only
 * @param deadline milliseconds for one check
 */
export function createProofLooker({
  agent,
  dnsServers = [],
  httpsPort = 443,
  deadline = DEADLINE,
}: {
  agent: Pick<GuardedAgent, 'dispatcher'>;
  dnsServers?: readonly string[] | undefined;
  httpsPort?: number | undefined;
  deadline?: number | undefined;
}) {
  async function readFile({ value, proof }: Pick<Anchor, 'value' | 'proof'>): Promise<string> {
    const fetched = await fetchGuarded(
      agent.dispatcher,
      { origin: httpsPort === 443 ? `https://${value}` : `https://${value}:${httpsPort}`, path: FILE },
      {
        accept: 'text/plain',
        userAgent: 'Countersign-Anchors/1',
        deadline,
        largest: LARGEST,
        // Each check opens a new connection, because the name may have another address since the last check.
        isFresh: true,
      },
    );
    if (fetched.fault !== undefined) return fetched.fault.code;
    return isProofFile(fetched.body, proof) ? FOUND : MISMATCH;
  }

  async function readRecords({ value, proof }: Pick<Anchor, 'value' | 'proof'>): Promise<string> {
    // Each check has its own resolver, because `cancel` ends all queries of a resolver.
    const resolver = new dns.Resolver({ timeout: Math.ceil(deadline / 4), tries: 2 });
    if (dnsServers.length > 0) resolver.setServers(dnsServers);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      resolver.cancel();
    }, deadline);
    try {
      const records = await resolver.resolveTxt(`${RECORD}.${value}`);
      // The answer is empty when a CNAME refers to a name without TXT records.
      if (records.length === 0) return classifyFailure('dns', 'ENODATA').error;
      return isProofRecord(records, proof) ? FOUND : MISMATCH;
    } catch (error) {
      return (late ? classifyTimeout('dns') : classifyFailure('dns', errorCode(error))).error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    /**
     * Checks once whether the proof is published.
     * @returns `found`; `mismatch` when another text is published; or a short error code such as `http:404`,
     * `dns:ENOTFOUND`, `tls:CERT_HAS_EXPIRED`, `timeout:connect`, `blocked_address:private`, `too_large`, `encoded`
     * @throws errors of undici that this service caused
     */
    look: (anchor: Pick<Anchor, 'type' | 'value' | 'proof'>): Promise<string> =>
      anchor.type === 'domain_dns' ? readRecords(anchor) : readFile(anchor),
  };
}
