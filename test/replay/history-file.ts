// Histories as readable files. By the generated classes' own conversion: the SDK's needs one single copy of protobufjs
// in the tree.
import { writeFileSync } from 'node:fs';
import { temporal } from '@temporalio/proto';

const { History } = temporal.api.history.v1;

export type History = temporal.api.history.v1.IHistory;

/**
 * Writes a history, one event a line; names of machines and processes, and places in files, are left out: they say
 * nothing about a workflow.
 */
export function writeHistory(file: URL, history: History): void {
  const { events } = History.toObject(History.fromObject(history), {
    longs: String,
    enums: String,
    bytes: String,
  }) as { events: readonly object[] };
  const lines = events.map((event) => JSON.stringify(event, withoutPlace));
  writeFileSync(file, `{"events":[\n${lines.join(',\n')}\n]}\n`);
}

function withoutPlace(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return key === 'stackTrace' ? '' : value.replaceAll(/\d+@[\w.-]+/g, 'worker');
}

/** @param text a history as `writeHistory` writes it */
export function parseHistory(text: string): History {
  return History.fromObject(JSON.parse(text));
}
