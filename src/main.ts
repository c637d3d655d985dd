#!/usr/bin/env node
// The executable `countersign`: runs the command line and turns its failures into one clear line and an exit code.
import { createProgram, reportFailure } from './app/command-line.ts';

try {
  await createProgram({
    env: process.env,
    print: (line) => process.stdout.write(`${line}\n`),
    tell: (line) => process.stderr.write(`${line}\n`),
    fail: (code) => {
      process.exitCode = code;
    },
  }).parseAsync();
} catch (error) {
  // A role that failed may still hold open connections: it must end all the same.
  process.exit(reportFailure(error, (line) => process.stderr.write(`${line}\n`)));
}
