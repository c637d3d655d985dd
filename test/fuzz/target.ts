// What a fuzz target is, and how its input of bytes becomes what its parser reads.
import { ok } from 'node:assert/strict';
import { ServiceError } from '../../src/platform/errors/service-error.ts';

/**
 * One parser of input from outside. `run` throws only when the parser broke its promise: another error than the
 * declared one, a result that is not canonical, or one that differs from an independent implementation.
 */
export type Target = {
  readonly name: string;
  /** `file#function` below `src`, each of which this target reaches directly. */
  readonly parsers: readonly string[];
  readonly seeds: readonly (string | Uint8Array)[];
  readonly run: (bytes: Uint8Array) => void | Promise<void>;
};

/** A body: UTF-8, with replacement characters where it is none. */
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** A header's value as Node gives it: one character for each byte. */
export const headerOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** The lines of an input for a parser with several arguments; missing ones are empty. */
export const linesOf = (bytes: Uint8Array, most: number): string[] => {
  const lines = textOf(bytes).split('\n');
  const last = lines.slice(most - 1).join('\n');
  return Array.from({ length: most }, (_, index) => (index === most - 1 ? last : (lines[index] ?? '')));
};

/** @returns the value, or undefined for JSON that does not parse */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a text has no lone surrogate, which UTF-8 cannot express. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** @returns the result, or undefined when the parser refused with the error that it declares */
export function attempt<Result>(
  parse: () => Result,
  isDeclared: (error: unknown) => boolean,
): Result | undefined {
  try {
    return parse();
  } catch (error) {
    if (isDeclared(error)) return undefined;
    throw error;
  }
}

/** Whether an error is one of these refusals of a request. */
export const refusal =
  (...codes: readonly string[]) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && codes.includes(error.code);

/** Runs an independent implementation, which must accept what the parser has accepted. */
export function accepts<Result>(what: string, independent: () => Result): Result {
  try {
    return independent();
  } catch (error) {
    ok(false, `${what} refuses what the parser accepts: ${String(error)}`);
  }
}
