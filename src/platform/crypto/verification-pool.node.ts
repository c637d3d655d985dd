// Worker threads that verify BIP 340 signatures, because one verification takes a millisecond of JavaScript. When a
// thread dies, the calling thread does its verifications.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { schnorr } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { tryAgain } from '../errors/service-error.ts';
import { createBip340Verifier } from './bip340.node.ts';

/** Verifications that may wait for one thread, about two seconds of work. Further verifications are refused. */
const LONGEST_QUEUE = 1_000;

type Job = {
  readonly id: number;
  readonly signature: Uint8Array;
  /** What the signature may be over. */
  readonly messages: readonly Uint8Array[];
  readonly publicKey: Uint8Array;
  readonly settle: (isValid: boolean) => void;
};

type Thread = { readonly worker: Worker; readonly jobs: Map<number, Job> };

/**
 * The program of a thread. It is text because a file would be TypeScript in tests and JavaScript after a build, and the
 * compiler does not rewrite the path of a worker.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const verifier = import(workerData.secp256k1).then(({ schnorr }) => (${createBip340Verifier})(schnorr));
parentPort.on('message', async ({ id, signature, messages, publicKey }) => {
  const verify = await verifier;
  parentPort.postMessage({ id, isValid: verify(signature, messages, publicKey) });
});
`;

const verifyHere = createBip340Verifier(schnorr);

type VerificationPoolNeeds = { size: number; longestQueue?: number | undefined };

/**
 * Creates the pool. A thread starts with its first verification and keeps no process alive.
 * @param size number of threads; with 0 the calling thread verifies
 * @param longestQueue verifications that may wait for one thread
 */
export function createVerificationPool({ size, longestQueue = LONGEST_QUEUE }: VerificationPoolNeeds) {
  const threads: (Thread | null)[] = Array.from({ length: size }, () => null);
  let nextId = 0;
  let isClosed = false;

  /** Picks the thread with the fewest verifications, and starts it if necessary. */
  function pickThread(): Thread | null {
    if (isClosed || threads.length === 0) return null;
    const idle = threads.findIndex((thread) => thread !== null && thread.jobs.size === 0);
    const empty = threads.indexOf(null);
    if (idle < 0 && empty >= 0) return startThread(empty);
    return threads.reduce((least, thread) =>
      thread !== null && (least === null || thread.jobs.size < least.jobs.size) ? thread : least,
    );
  }

  function startThread(slot: number): Thread {
    const secp256k1 = pathToFileURL(
      createRequire(import.meta.url).resolve('@noble/curves/secp256k1.js'),
    ).href;
    const worker = new Worker(PROGRAM, { eval: true, workerData: { secp256k1 }, execArgv: [] });
    const thread: Thread = { worker, jobs: new Map() };
    threads[slot] = thread;
    worker.unref();
    worker.on('message', ({ id, isValid }: { id: number; isValid: boolean }) => {
      const job = thread.jobs.get(id);
      thread.jobs.delete(id);
      if (thread.jobs.size === 0) worker.unref();
      job?.settle(isValid);
    });
    // Every 'error' is followed by 'exit', whose listener gives the work to the calling thread.
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (threads[slot] === thread) threads[slot] = null;
      for (const job of thread.jobs.values()) settleHere(job);
      thread.jobs.clear();
    });
    return thread;
  }

  return {
    /**
     * Verifies, on another thread, with the SHA-256 of the payload as the message, or else with the payload.
     * @param signature 64 bytes
     * @param publicKey 32 bytes, x-only
     * @throws ServiceError `temporarily_unavailable` when too many verifications wait
     */
    async verify(signature: Uint8Array, payload: Uint8Array, publicKey: Uint8Array): Promise<boolean> {
      const thread = pickThread();
      if (thread !== null && thread.jobs.size >= longestQueue)
        throw tryAgain('Too many signatures wait to be verified.');
      return new Promise((resolve) => {
        const messages = [sha256(payload), payload];
        const job: Job = { id: nextId++, signature, messages, publicKey, settle: resolve };
        if (thread === null) return settleHere(job);
        thread.jobs.set(job.id, job);
        thread.worker.ref();
        thread.worker.postMessage({ id: job.id, signature, messages, publicKey });
      });
    },
    /** Ends the threads; the calling thread finishes their verifications. */
    async close(): Promise<void> {
      isClosed = true;
      await Promise.all(threads.map((thread) => thread?.worker.terminate()));
    },
  };
}

export type VerificationPool = ReturnType<typeof createVerificationPool>;

function settleHere({ signature, messages, publicKey, settle }: Job): void {
  settle(verifyHere(signature, messages, publicKey));
}
