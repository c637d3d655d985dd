#!/usr/bin/env node
// The executable `countersign`: runs the command line and reports its failures in one line each, with an exit code.
import { createProgram, reportFailure } from './app/command-line.ts';

// The reader of the output may end before this process. Without a listener a failed write would end it with a stack.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

try {
  await createProgram({
    env: process.env,
    print: (line) => process.stdout.write(`${line}\n`),
    tell: (line) => process.stderr.write(`${line}\n`),
    fail: (code) => {
      process.exitCode = code;
    },
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    interrupted: () => {
      const end = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
      return end.signal;
    },
    readInput: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
  }).parseAsync();
} catch (error) {
  // Open connections of a failed role could keep the process alive, so it is ended explicitly.
  process.exit(await reportFailure(error, (line) => process.stderr.write(`${line}\n`)));
}
