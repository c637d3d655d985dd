// Looks whether a proof is published: in a file of the domain's web server, or in the DNS. It must never connect but through the guarded
// agent, follow a redirect, wait beyond its deadline, throw for anything that a domain does, or give out a text that a domain chose.
import { promises as dns } from 'node:dns';
import { type GuardedAgent, newConnectionTrace } from '../../platform/egress/guarded-agent.client.ts';
import { EgressError, errorCode } from '../../platform/egress/guarded-connection.client.ts';
import { type Answer, exchange, TIMED_OUT } from '../../platform/egress/guarded-exchange.client.ts';
import { classifyFailure, classifyTimeout } from '../../platform/egress/outcome.ts';
import type { Anchor } from './anchor.ts';
import { FOUND, isProofFile, isProofRecord } from './anchor-check.ts';

/** The time of one look, from DNS to the last byte, in milliseconds. */
const DEADLINE = 10_000;

/** Bytes of the largest file. */
const LARGEST = 4_096;

const FILE = '/.well-known/countersign-anchor.txt';
const RECORD = '_countersign';

/** Something else is published in the place of the proof. */
const MISMATCH = 'mismatch';

export type ProofLooker = ReturnType<typeof createProofLooker>;

/**
 * @param agent the guarded dispatcher: it judges the address that is really connected to
 * @param dnsServers whom to ask for TXT records, `address` or `address:port`; the system's servers when empty
 * @param httpsPort where web servers are; another one than 443 is for development
 * @param deadline milliseconds, for one look
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
    const trace = newConnectionTrace();
    const { answer, failure } = await exchange(
      agent.dispatcher,
      {
        origin: httpsPort === 443 ? `https://${value}` : `https://${value}:${httpsPort}`,
        path: FILE,
        method: 'GET',
        headers: {
          Accept: 'text/plain',
          'Accept-Encoding': 'identity',
          'User-Agent': 'Countersign-Anchors/1',
        },
        headersTimeout: 0,
        bodyTimeout: 0,
        // The next look is a new connection: the name may lead elsewhere by then.
        reset: true,
        trace,
      },
      { timeoutMs: deadline, maxBodyBytes: LARGEST + 1, excerptBytes: LARGEST + 1 },
    );
    if (failure === TIMED_OUT) return codeOf(classifyTimeout(trace.phase));
    if (failure !== undefined || answer === undefined) {
      const phase = failure instanceof EgressError ? failure.phase : trace.phase;
      return codeOf(classifyFailure(phase, errorCode(failure)));
    }
    return judgeAnswer(answer, proof);
  }

  async function readRecords({ value, proof }: Pick<Anchor, 'value' | 'proof'>): Promise<string> {
    // One for each look: canceling its queries cancels nobody else's.
    const resolver = new dns.Resolver({ timeout: Math.ceil(deadline / 4), tries: 2 });
    if (dnsServers.length > 0) resolver.setServers(dnsServers);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      resolver.cancel();
    }, deadline);
    try {
      const records = await resolver.resolveTxt(`${RECORD}.${value}`);
      // A CNAME may lead to a name without any.
      if (records.length === 0) return codeOf(classifyFailure('dns', 'ENODATA'));
      return isProofRecord(records, proof) ? FOUND : MISMATCH;
    } catch (error) {
      return codeOf(late ? classifyTimeout('dns') : classifyFailure('dns', errorCode(error)));
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    /**
     * Looks for the proof once.
     * @returns `found`; `mismatch` when something else is there; or a short code of what was wrong, such as `http:404`,
     *   `dns:ENOTFOUND`, `tls:CERT_HAS_EXPIRED`, `timeout:connect`, `blocked_address:private`, `too_large`, `encoded`
     * @throws what undici reports when this service's own part fails
     */
    look: (anchor: Pick<Anchor, 'type' | 'value' | 'proof'>): Promise<string> =>
      anchor.type === 'domain_dns' ? readRecords(anchor) : readFile(anchor),
  };
}

function judgeAnswer({ statusCode, headers, excerpt: body }: Answer, proof: string): string {
  if (statusCode !== 200) return `http:${statusCode}`;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return 'encoded';
  if (body.length > LARGEST) return 'too_large';
  return isProofFile(body, proof) ? FOUND : MISMATCH;
}

function codeOf(outcome: ReturnType<typeof classifyFailure>): string {
  return outcome.kind === 'delivered' ? MISMATCH : outcome.error;
}
