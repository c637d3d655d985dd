// Histories as readable files. By the generated classes' own conversion: the SDK's needs one single copy of protobufjs
// in the tree.
import { writeFileSync } from 'node:fs';
import { temporal } from '@temporalio/proto';

const { History } = temporal.api.history.v1;

export type History = temporal.api.history.v1.IHistory;

/**
 * Writes a history; names of machines and processes, and places in files, are left out: they say nothing about a
 * workflow.
 */
export function writeHistory(file: URL, history: History): void {
  const plain = History.toObject(History.fromObject(history), {
    longs: String,
    enums: String,
    bytes: String,
  });
  const text = JSON.stringify(plain, null, 1)
    .replaceAll(/\d+@[\w.-]+/g, 'worker')
    .replaceAll(/("stackTrace": ")[^"]*"/g, '$1"');
  writeFileSync(file, `${text}\n`);
}

/** @param text a history as `writeHistory` writes it */
export function parseHistory(text: string): History {
  return History.fromObject(JSON.parse(text));
}
